# The other scripts and the Makefile: what they run, in which order, and what they make of failures.
# shellcheck shell=bash
# shellcheck disable=SC2154,SC2016  # box is set by tests/scripts/run; fakes expand their own arguments

# A cmake and a ctest that note how they were called.
note_calls() {
  has_wheels
  fake cmake 'if [[ $1 == --version ]]; then echo "cmake version 3.25.1"; else echo "cmake $*" >>'"$box"'/calls; fi'
  fake ctest 'echo "ctest $*${LOCKSTEP_TEST_FULL:+ full}" >>'"$box"'/calls; echo "Total Tests: 0"; exit "${CTEST_CODE:-0}"'
}

test_build_that_fails_shows_the_end_of_its_log() {
  has_wheels
  fake cmake 'if [[ $1 == --build ]]; then printf "line %d\n" {1..100}; exit 1; fi; echo "cmake version 3.25.1"'
  fails scripts/build
  says "line 71"
  says_not "line 70"
  says "error: building release failed; all of its output is in build/logs/build-release.log"
}

test_quickstart_trains_on_two_ranks_and_passes_options_on() {
  note_calls
  mkdir -p build/release/bin
  printf '#!/bin/sh\necho "lockstep $*"\nexit 7\n' >build/release/bin/lockstep
  chmod +x build/release/bin/lockstep
  fails scripts/quickstart
  says "lockstep run -n 2 -- build/release/bin/mnist_sync_sgd --epochs 3"
  ((code == 7)) || wrong "the exit code is not the command's"
  fails scripts/quickstart --epochs 1 --seed 5
  says "mnist_sync_sgd --epochs 1 --seed 5"
  says_not "--epochs 3"
  reads "$box/calls"
  says "-DBUILD_TESTING=OFF"
}

test_quickstart_keeps_a_build_with_tests() {
  note_calls
  mkdir -p build/release
  echo 'BUILD_TESTING:BOOL=ON' >build/release/CMakeCache.txt
  fails scripts/quickstart
  reads "$box/calls"
  says_not "-DBUILD_TESTING=OFF"
}

test_test_passes_on_options_and_ctests_code() {
  note_calls
  CTEST_CODE=8 fails scripts/test --full -R AllReduce
  ((code == 8)) || wrong "the exit code is not ctest's"
  reads "$box/calls"
  says "-DBUILD_TESTING=ON"
  says "ctest --preset full -R AllReduce full"
}

test_parity_without_tests_says_so() {
  note_calls
  succeeds scripts/parity
  says "there are no parity tests yet"
  is_not_there .deps/python
}

test_gpu_tests_without_any_says_so() {
  note_calls
  succeeds scripts/test-gpu
  says "there are no GPU tests yet"
}

test_every_script_has_help() {
  local script
  for script in scripts/*; do
    [[ -x $script ]] || continue
    succeeds "$script" --help
    says "usage: $script"
  done
}

test_make_help_lists_every_target() {
  command -v make >/dev/null || skip "needs make"
  succeeds make help
  for target in quickstart test parity test-gpu build format lint bench package clean help; do
    says "make $target "
  done
}
