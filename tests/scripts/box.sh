# The box that a test of the scripts runs in, and what a test says about it. Sourced by tests/scripts/run.
# shellcheck shell=bash
# shellcheck disable=SC2154  # box and repository are set by tests/scripts/run

# A machine that lacks no package, has the right tools, and has no libtorch. Everybody may use it, so that a test can be
# somebody else than root.
open_box() {
  mkdir -p "$box/bin" "$box/lockstep" "$box/site"
  cp -r "$repository/scripts" "$repository/Makefile" "$box/lockstep/"
  touch "$box/site/torch.py" # hides a torch that this machine's Python may have
  unset LOCKSTEP_TORCH_ROOT CMAKE_PREFIX_PATH CPATH CPLUS_INCLUDE_PATH CXX PIP_NO_INDEX PIP_FIND_LINKS
  export PATH=$box/bin:$PATH HOME=$box PYTHONPATH=$box/site LOCKSTEP_OS_RELEASE=$box/os-release
  export PIP_CONFIG_FILE=/dev/null PIP_INDEX_URL=http://127.0.0.1:9/simple PIP_RETRIES=1 # where nobody answers
  lacks_no_package
  is_distribution debian 'Debian GNU/Linux 12'
  fake cmake 'echo "cmake version 3.25.1"'
  fake g++ 'echo 12.2.0'
  fake apt-get 'echo "apt-get was called" >&2; exit 99'
  fake sudo 'exit 1'
  cd "$box/lockstep" || exit
  chmod -R a+rwX "$box"
}

# fake NAME COMMANDS: a program of the box.
fake() {
  printf '#!/usr/bin/env bash\n%s\n' "$2" >"$box/bin/$1"
  chmod a+rx "$box/bin/$1"
}

# scripts/packages.txt of the box: every group needs bash, and that is here.
lacks_no_package() {
  awk '!/^#/ && NF { print $1, "bash bash bash bash cmd:bash runs scripts" }' "$repository/scripts/packages.txt" |
    sort -u >"$box/lockstep/scripts/packages.txt"
}

# lacks_a_package [PROBE [NAME]]
lacks_a_package() {
  echo "build ${2:-libnone-dev} none-devel none-zypper none ${1:-cmd:no-such-program} does nothing" >>"$box/lockstep/scripts/packages.txt"
}

may_become_root() {
  # shellcheck disable=SC2016  # the fake expands its own arguments
  ((EUID == 0)) || fake sudo 'if [[ $1 == -* ]]; then shift; fi; exec "$@"'
}

# is_distribution ID NAME
is_distribution() { printf 'ID=%s\nPRETTY_NAME="%s"\n' "$1" "$2" >"$LOCKSTEP_OS_RELEASE"; }

# make_torch FOLDER VERSION: what a libtorch looks like from outside.
make_torch() {
  local major minor patch
  IFS=. read -r major minor patch <<<"$2"
  mkdir -p "$1/lib" "$1/include/torch/headeronly"
  touch "$1/lib/libtorch_cpu.so" "$1/__init__.py"
  printf '#define TORCH_VERSION_%s\n' "MAJOR $major" "MINOR $minor" "PATCH $patch" >"$1/include/torch/headeronly/version.h"
}

has_wheels() {
  make_torch .deps/wheels/torch 2.11.0
  has_pinned wheels wheels.txt
}

# has_pinned FOLDER LIST: scripts/setup finds there what it would fetch.
has_pinned() {
  mkdir -p ".deps/$1"
  grep '==' "scripts/$2" >".deps/$1/.pinned"
}

# pin_small_wheel: makes scripts/wheels.txt name a wheel of a few bytes, in a folder that is all of the package index.
pin_small_wheel() {
  local wheel=$box/index/torch-2.11.0-py3-none-any.whl
  python3 - "$wheel" <<'PYTHON' || skip "needs python3"
import os, sys, zipfile
os.makedirs(os.path.dirname(sys.argv[1]))
with zipfile.ZipFile(sys.argv[1], "w") as wheel:
    wheel.writestr("torch/lib/libtorch_cpu.so", "")
    wheel.writestr("torch/include/torch/headeronly/version.h",
                   "".join(f"#define TORCH_VERSION_{name} {value}\n" for name, value in (("MAJOR", 2), ("MINOR", 11), ("PATCH", 0))))
    info = "torch-2.11.0.dist-info/"
    wheel.writestr(info + "METADATA", "Metadata-Version: 2.1\nName: torch\nVersion: 2.11.0\n")
    wheel.writestr(info + "WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    wheel.writestr(info + "RECORD", "")
PYTHON
  printf 'torch==2.11.0 --hash=sha256:%s\n' "$(sha256sum "$wheel" | cut -d ' ' -f 1)" >scripts/wheels.txt
  export PIP_NO_INDEX=1 PIP_FIND_LINKS=$box/index
  chmod -R a+rX "$box"
  needs_pip
}

# pin_small_ccl: the same for scripts/ccl-wheels.txt.
pin_small_ccl() {
  local wheel=$box/index/oneccl_devel-2021.14.1-py3-none-any.whl
  python3 - "$wheel" <<'PYTHON' || skip "needs python3"
import os, sys, zipfile
os.makedirs(os.path.dirname(sys.argv[1]), exist_ok=True)
with zipfile.ZipFile(sys.argv[1], "w") as wheel:
    data = "oneccl_devel-2021.14.1.data/data/"
    for name in ("include/oneapi/ccl.hpp", "lib/ccl/cpu/lib/libccl.a", "lib/libccl.a"):
        wheel.writestr(data + name, "")
    info = "oneccl_devel-2021.14.1.dist-info/"
    wheel.writestr(info + "LICENSE.txt", "")
    wheel.writestr(info + "METADATA", "Metadata-Version: 2.1\nName: oneccl-devel\nVersion: 2021.14.1\n")
    wheel.writestr(info + "WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    wheel.writestr(info + "RECORD", "")
PYTHON
  printf 'oneccl-devel==2021.14.1 --hash=sha256:%s\n' "$(sha256sum "$wheel" | cut -d ' ' -f 1)" >scripts/ccl-wheels.txt
  export PIP_NO_INDEX=1 PIP_FIND_LINKS=$box/index
  chmod -R a+rX "$box"
  needs_pip
}

needs_pip() { python3 -c 'import pip' 2>/dev/null || /usr/bin/python3 -c 'import pip' 2>/dev/null || skip "needs pip"; }

# Runs a command as somebody who is not root.
as_nobody() { if ((EUID == 0)); then setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; else "$@"; fi; }

skip() {
  printf '%s\n' "$1"
  exit 77
}

# fails COMMAND... and succeeds COMMAND...: run it, keep what it says in `said`, and demand the outcome.
run() {
  code=0
  said=$("$@" 2>&1 </dev/null) || code=$?
  printf '$ %s\n%s\n[exit %d]\n' "$*" "$said" "$code"
}
fails() {
  run "$@"
  ((code != 0)) || wrong "it succeeded"
}
succeeds() {
  run "$@"
  ((code == 0)) || wrong "it failed"
}

# From here on the claims are about a file.
reads() { said=$(cat "$1"); }
says() { [[ $said == *"$1"* ]] || wrong "it did not say: $1"; }
says_not() { [[ $said != *"$1"* ]] || wrong "it said: $1"; }
is_there() { [[ -e $1 ]] || wrong "$1 is not there"; }
is_not_there() { [[ ! -e $1 ]] || wrong "$1 is there"; }

wrong() {
  printf 'wrong: %s\n' "$1"
  exit 1
}
