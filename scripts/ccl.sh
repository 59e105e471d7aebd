# oneCCL for scripts/setup: the part of the wheel in scripts/ccl-wheels.txt that a CPU program needs, in .deps/ccl.
# Sourced, never run.
# shellcheck shell=bash
# shellcheck disable=SC2154  # root, deps, logs and pip_platform are set in scripts/lib.sh and scripts/wheels.sh

ccl_list=$root/scripts/ccl-wheels.txt

# Whether .deps/ccl holds what is pinned. Its mark is written last.
ccl_is_whole() { grep '==' "$ccl_list" | cmp -s - "$deps/ccl/.pinned"; }

explain_ccl() { grep '==' "$ccl_list" | sed 's/==/ /; s/ --hash.*//; s/^/  /'; }

# As install_wheels: all or nothing, and one setup at a time.
install_ccl() {
  local log=$logs/ccl.log python staging=$deps/ccl.tmp lock
  python=$(python_with pip)
  make_folder "$deps"
  exec {lock}>"$deps/lock"
  flock "$lock"
  if ! ccl_is_whole; then
    rm -rf "$staging"
    mkdir -p "$staging/tmp"
    step "fetching oneCCL" "$log" fetch_ccl "$python" "$staging" || explain_pip_failure "$log" "$staging" oneCCL "$ccl_list"
    grep '==' "$ccl_list" >"$staging/ccl/.pinned"
    rm -rf "$deps/ccl"
    mv "$staging/ccl" "$deps/ccl"
    rm -rf "$staging"
  fi
  exec {lock}>&-
}

# The wheel keeps its files where `pip install --target` does not look, so it is unpacked here.
fetch_ccl() {
  local python=$1 staging=$2 data
  env TMPDIR="$staging/tmp" LC_ALL=C "$python" -m pip download --dest "$staging/tmp" --no-deps --require-hashes \
    --only-binary=:all: --no-cache-dir --disable-pip-version-check --progress-bar off "${pip_platform[@]}" -r "$ccl_list" || return
  "$python" -m zipfile -e "$staging"/tmp/*.whl "$staging/tmp/unpacked" || return
  mkdir -p "$staging/ccl/include" "$staging/ccl/lib" || return
  data=("$staging"/tmp/unpacked/*.data/data)
  mv "$staging"/tmp/unpacked/*.dist-info/LICENSE.txt "$staging/ccl/" || return
  mv "${data[0]}/include/oneapi" "$staging/ccl/include/" && mv "${data[0]}/lib/ccl/cpu/lib/libccl.a" "$staging/ccl/lib/"
}
