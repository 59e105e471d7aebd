# oneCCL for scripts/setup: the part of the wheel in scripts/ccl-wheels.txt that a CPU program needs, in .deps/ccl.
# Sourced, never run.
# shellcheck shell=bash
# shellcheck disable=SC2154  # root and pip_platform are set in scripts/lib.sh and scripts/wheels.sh

# The wheel keeps its files where `pip install --target` does not look, so it is unpacked here.
fetch_ccl() {
  local python=$1 staging=$2 data
  env TMPDIR="$staging/tmp" LC_ALL=C "$python" -m pip download --dest "$staging/tmp" --no-deps --require-hashes \
    --only-binary=:all: --no-cache-dir --disable-pip-version-check --progress-bar off "${pip_platform[@]}" -r "$root/scripts/ccl-wheels.txt" || return
  "$python" -m zipfile -e "$staging"/tmp/*.whl "$staging/tmp/unpacked" || return
  mkdir -p "$staging/ccl/include" "$staging/ccl/lib" || return
  data=("$staging"/tmp/unpacked/*.data/data)
  mv "$staging"/tmp/unpacked/*.dist-info/LICENSE.txt "$staging/ccl/" || return
  mv "${data[0]}/include/oneapi" "$staging/ccl/include/" && mv "${data[0]}/lib/ccl/cpu/lib/libccl.a" "$staging/ccl/lib/"
}
