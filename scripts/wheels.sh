# What comes as wheels for scripts/setup: libtorch, unless there is one in use already (scripts/wheels.txt), and clang-tidy
# (scripts/tidy-wheels.txt). Sourced, never run.
# shellcheck shell=bash
# shellcheck disable=SC2154  # root, deps and logs are set in scripts/lib.sh
# shellcheck disable=SC2034  # scripts/setup uses what find_torch sets

torch_wanted=2.11

# Prints the version of the libtorch in a folder, or nothing when there is none.
torch_version() {
  local part
  [[ -e $1/lib/libtorch_cpu.so ]] || return 0
  for part in MAJOR MINOR PATCH; do
    sed -n "s/^#define TORCH_VERSION_$part \([0-9]*\).*/\1/p" \
      "$1/include/torch/headeronly/version.h" "$1/include/torch/csrc/api/include/torch/version.h" 2>/dev/null || true
  done | paste -sd .
}

# Whether the folder FOLDER of .deps holds what LIST of scripts/ pins. Its mark is written last.
pinned_is_whole() { # FOLDER LIST
  grep '==' "$root/scripts/$2" | cmp -s - "$deps/$1/.pinned"
}

# Prints what will be fetched.
explain_pinned() { # LIST
  grep '==' "$root/scripts/$1" | sed 's/==/ /; s/ --hash.*//; s/^/  /'
}

# Puts what LIST pins into FOLDER of .deps, all or nothing: FETCH, called with a Python and an empty folder, leaves it
# there under the name FOLDER, and it is renamed. A second setup in the same folder waits for the first and finds its work
# done.
install_pinned() { # WHAT FOLDER LIST FETCH
  local what=$1 folder=$2 list=$3 fetch=$4 log python staging lock
  pinned_is_whole "$folder" "$list" && return
  log=$logs/$folder.log staging=$deps/$folder.tmp python=$(python_with pip)
  make_folder "$deps"
  exec {lock}>"$deps/lock"
  if ! flock -n "$lock"; then
    say "waiting for another setup in this folder"
    flock "$lock"
  fi
  if ! pinned_is_whole "$folder" "$list"; then
    rm -rf "$staging"
    mkdir -p "$staging/tmp"
    step "fetching $what" "$log" "$fetch" "$python" "$staging" ||
      explain_pip_failure "$log" "$staging" "$what" "$root/scripts/$list"
    grep '==' "$root/scripts/$list" >"$staging/$folder/.pinned"
    rm -rf "${deps:?}/$folder"
    mv "$staging/$folder" "$deps/$folder"
    rm -rf "$staging"
  fi
  exec {lock}>&-
}

# Sets torch_root and torch_source to the libtorch in use, in CMake's order: LOCKSTEP_TORCH_ROOT, the wheels, the torch
# that python3 imports. torch_source is `missing` when the wheels must be fetched; torch_refused then says which torch
# python3 has, if it is one of another version.
find_torch() {
  local found version
  torch_refused=''
  if [[ -n ${LOCKSTEP_TORCH_ROOT:-} ]]; then
    version=$(torch_version "$LOCKSTEP_TORCH_ROOT")
    if [[ $version != "$torch_wanted".* ]]; then
      die "LOCKSTEP_TORCH_ROOT is $LOCKSTEP_TORCH_ROOT, where there is ${version:+libtorch }${version:-no libtorch}; Lockstep needs $torch_wanted" \
        "point it at the folder of a libtorch $torch_wanted (the one with include/ and lib/), or unset it and setup fetches the right one"
    fi
    torch_root=$LOCKSTEP_TORCH_ROOT torch_source=LOCKSTEP_TORCH_ROOT
    return
  fi
  torch_root=$deps/wheels/torch torch_source=wheels
  pinned_is_whole wheels wheels.txt && return
  torch_source=missing
  [[ ! -e $torch_root ]] || return 0 # wheels of an older pin: CMake sees them before python3's
  found=$(python3 -c 'import importlib.util as u; s = u.find_spec("torch"); print(s.submodule_search_locations[0] if s and s.submodule_search_locations else "")' 2>/dev/null) || true
  [[ -n $found ]] || return 0
  version=$(torch_version "$found")
  if [[ $version == "$torch_wanted".* ]]; then
    torch_root=$found torch_source=python3
  else
    torch_refused="python3 has torch ${version:-without libtorch} in $found, which stays as it is: Lockstep needs $torch_wanted"
  fi
}

# The platform is the one that scripts/wheels.txt pins, not that of the Python that happens to run pip.
pip_platform=(--implementation cp --python-version 3.12 --platform manylinux_2_28_x86_64 --platform manylinux_2_25_x86_64
  --platform manylinux_2_17_x86_64 --platform manylinux2014_x86_64)

# TMPDIR is on the same disk, which is the one that was found large enough; no cache, because pip holds a wheel in memory
# to cache it.
fetch_pinned() { # PYTHON TARGET TEMPORARY LIST
  env TMPDIR="$3" PIP_USER=0 PIP_REQUIRE_VIRTUALENV=0 LC_ALL=C "$1" -m pip install --target "$2" --no-deps \
    --require-hashes --only-binary=:all: --no-compile --no-cache-dir --disable-pip-version-check --progress-bar off \
    "${pip_platform[@]}" -r "$root/scripts/$4"
}

fetch_wheels() { fetch_pinned "$1" "$2/wheels" "$2/tmp" wheels.txt; }

# Of the wheel, the program and the headers of its compiler.
fetch_tidy() {
  fetch_pinned "$1" "$2/tmp/wheel" "$2/tmp" tidy-wheels.txt && mv "$2/tmp/wheel/clang_tidy/data" "$2/tidy"
}

without_network() {
  case $1 in
    libtorch) say "or set LOCKSTEP_TORCH_ROOT to the folder of a libtorch $torch_wanted that is already here" ;;
    oneCCL) say "or leave out --group ccl, and do without the backend ccl" ;;
    *) say "or leave out what needs $1" ;;
  esac
}

# Ends the script with the reason why WHAT of LIST did not come.
explain_pip_failure() { # LOG STAGING WHAT LIST
  local log=$1 staging=$2 what=$3 list=$4 again='run this again'
  rm -rf "$staging"
  if grep -q 'No space left' "$log"; then
    die "the disk filled up while $what was unpacked" "free some space, then $again"
  elif grep -q 'DO NOT MATCH THE HASHES' "$log"; then
    die_with_log "a wheel is not the one that $(short_path "$list") pins, and was not installed" "$log" \
      "$again in case the download was cut short; else the package index or a proxy changes files: ask who runs it"
  elif grep -qE 'NewConnectionError|NameResolutionError|ConnectTimeout|ReadTimeout|ProxyError|SSLError|Connection (refused|reset|aborted)|IncompleteRead' "$log"; then
    die "no network: pip could not reach its package index (see $(short_path "$log"))" \
      "connect the machine, or set https_proxy or PIP_INDEX_URL to what your site offers, then $again" \
      "$(without_network "$what")"
  fi
  if grep -q 'from versions: none' "$log"; then
    die_with_log "pip's package index cannot be reached, or does not have $what" "$log" "see that PIP_INDEX_URL and https_proxy are right, then $again"
  fi
  die_with_log "pip failed" "$log" "mend what it says, then $again"
}
