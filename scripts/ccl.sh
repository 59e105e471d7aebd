# oneCCL for scripts/setup: the part of the wheels of scripts/ccl-wheels.txt that a CPU program needs, in .deps/ccl.
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

# These wheels keep their files where `pip install --target` does not look, so they are unpacked here.
fetch_ccl() {
  local python=$1 staging=$2 wheel data
  env TMPDIR="$staging/tmp" LC_ALL=C "$python" -m pip download --dest "$staging/tmp" --no-deps --require-hashes \
    --only-binary=:all: --no-cache-dir --disable-pip-version-check --progress-bar off "${pip_platform[@]}" -r "$ccl_list" || return
  for wheel in "$staging"/tmp/*.whl; do "$python" -m zipfile -e "$wheel" "$staging/tmp/unpacked" || return; done
  mkdir -p "$staging/ccl/include" "$staging/ccl/lib" || return
  for data in "$staging"/tmp/unpacked/*.data/data; do
    if [[ -e $data/lib/ccl/cpu/lib/libccl.a ]]; then
      mv "$data/include/oneapi" "$staging/ccl/include/" && mv "$data/lib/ccl/cpu/lib/libccl.a" "$staging/ccl/lib/" || return
    else
      mv "$data"/lib/{libimf.so,libintlc.so.5,libirng.so,libsvml.so} "$staging/ccl/lib/" || return
    fi
  done
}
