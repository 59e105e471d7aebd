# What all scripts share: messages, timed steps, places. Sourced, never run.
# shellcheck shell=bash
# shellcheck disable=SC2034  # the scripts that source this file use its variables

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
deps=$root/.deps
logs=$root/build/logs
# The scripts change to the root; a path that was given from elsewhere must still hold there.
if [[ ${LOCKSTEP_TORCH_ROOT:-/} != /* ]]; then export LOCKSTEP_TORCH_ROOT=$PWD/$LOCKSTEP_TORCH_ROOT; fi

say() { printf '%s\n' "$*"; }

# die PROBLEM NEXT...: one sentence that says what is wrong, then what to do about it, a line for each part.
die() {
  printf 'error: %s\n  next: %s\n' "$1" "$2" >&2
  shift 2
  if (($#)); then printf '        %s\n' "$@" >&2; fi
  exit 1
}

# Prints the comment at the top of a script: it is the script's help.
print_help() { sed -n '2,/^[^#]/{s/^# \{0,1\}//p}' "$1"; }

# A path as a person standing in the repository would type it.
short_path() { printf '%s' "${1#"$root"/}"; }

make_folder() {
  local folder=$1
  mkdir -p "$folder" 2>/dev/null && [[ -w $folder ]] && return
  while [[ ! -e $folder ]]; do folder=$(dirname "$folder"); done
  die "cannot write to $folder, which belongs to $(stat -c %U "$folder")" \
    "run as that user, or give it to yours, or copy the sources to a folder of yours"
}

# check_space FOLDER MEGABYTES WHAT: ends the script where there is too little.
check_space() {
  local free
  free=$(df -Pm "$1" | awk 'NR == 2 { print $4 }')
  ((free >= $2)) || die "too little disk: $3 takes about $2 MB, and $1 has $free MB free" "free some space there, or work in a folder on another disk"
}

# version_at_least FOUND WANTED
version_at_least() { [[ $(printf '%s\n' "$1" "$2" | sort -V | head -n 1) == "$2" ]]; }

# step LABEL LOG COMMAND...: runs COMMAND with its output in LOG and shows one line with the time it took. On a terminal
# that line is live. Returns COMMAND's exit code.
step() {
  local label=$1 log=$2 started=$SECONDS ticker='' code=0
  shift 2
  make_folder "$(dirname "$log")"
  if [[ -t 1 ]]; then
    show_progress "$label" "$log" &
    ticker=$!
  else
    printf '%s ... ' "$label"
  fi
  "$@" >"$log" 2>&1 </dev/null || code=$?
  if [[ -n $ticker ]]; then
    kill "$ticker" 2>/dev/null || true
    wait "$ticker" 2>/dev/null || true
    printf '\r\033[K%s ... ' "$label"
  fi
  if ((code != 0)); then printf 'failed after '; fi
  printf '%d s\n' $((SECONDS - started))
  return "$code"
}

# The live line of `step`, with ninja's count where the log has one. It ends by itself when its script is gone.
show_progress() {
  local label=$1 log=$2 started=$SECONDS count
  while kill -0 $$ 2>/dev/null; do
    count=$(tail -c 4096 "$log" 2>/dev/null | grep -ao '^\[[0-9]*/[0-9]*\]' | tail -n 1 | tr -d '[]') || true
    printf '\r\033[K%s ... %s%d s' "$label" "${count:+$count, }" $((SECONDS - started))
    sleep 0.5
  done
}

# step_or_die LABEL LOG COMMAND...: as step; a failure shows the end of the log and ends the script.
step_or_die() {
  step "$@" && return
  die_with_log "$1 failed" "$2" "mend the first error there, then run this again"
}

# die_with_log PROBLEM LOG NEXT...: as die, after the last lines of LOG.
die_with_log() {
  local problem=$1 log=$2
  shift 2
  tail -n 30 "$log" >&2
  die "$problem; all of its output is in $(short_path "$log")" "$@"
}

# has_tests PRESET LABEL: whether a built preset has tests with a label.
has_tests() { ctest --test-dir "$root/build/$1" -N -L "$2" | grep '^Total Tests: [1-9]' >/dev/null; }

# Prints the .cpp files that changed in the last 40 commits or since, or that include what did; all of them where there is
# no such history.
recent_sources() {
  local changed headers since=HEAD~40
  if ! git rev-parse --verify --quiet "$since" >/dev/null; then
    git ls-files '*.cpp'
    return
  fi
  changed=$(git diff --name-only --diff-filter=d "$since" -- '*.cpp' '*.h' '*.inc')
  # As they are included: public headers by their path, others by their name.
  headers=$(sed -nE 's,^include/,,; s,^(src|apps|tests)/(.*/)?,,; /\.(h|inc)$/ { s,\.,\\.,g; p }' <<<"$changed" | paste -sd '|')
  {
    grep '\.cpp$' <<<"$changed" || true
    if [[ -n $headers ]]; then git grep -lE "^#include [<\"]([^>\"]*/)?($headers)[>\"]" -- '*.cpp' || true; fi
  } | sort -u
}
