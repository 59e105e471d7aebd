# The other scripts and the Makefile: what they run, in which order, and what they make of failures.
# shellcheck shell=bash
# shellcheck disable=SC2154,SC2016  # box is set by tests/scripts/run; fakes expand their own arguments

# A cmake and a ctest that note how they were called.
note_calls() {
  has_wheels
  has_pinned ccl ccl-wheels.txt
  has_pinned tidy tidy-wheels.txt
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
  says "lockstep train configs/mnist.yaml -n 2"
  ((code == 7)) || wrong "the exit code is not the command's"
  fails scripts/quickstart --epochs 1 --seed 5
  says "lockstep train configs/mnist.yaml -n 2 --epochs 1 --seed 5"
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

test_gpu_tests_are_built_and_run_by_themselves() {
  note_calls
  CTEST_CODE=8 fails scripts/test-gpu -R StepGraph
  ((code == 8)) || wrong "the exit code is not ctest's"
  reads "$box/calls"
  says "--target gpu_tests"
  says "ctest --test-dir build/cuda -L gpu --output-on-failure -R StepGraph"
}

# has_fuzzer NAME COMMANDS: in place of one that was built.
has_fuzzer() {
  note_calls
  mkdir -p tests/fuzz build/fuzz
  echo "lockstep_add_fuzzer($1 SOURCES data/$1.cpp)" >>tests/fuzz/CMakeLists.txt
  printf '#!/usr/bin/env bash\n%s\n' "$2" >"build/fuzz/${1}_fuzzer"
  chmod +x "build/fuzz/${1}_fuzzer"
}

test_fuzz_runs_those_that_are_named() {
  has_fuzzer jpeg 'echo "jpeg $*" >>'"$box"'/calls'
  has_fuzzer png 'echo "png $*" >>'"$box"'/calls'
  succeeds scripts/fuzz --seconds 7 png
  reads "$box/calls"
  says "cmake --build build/fuzz --target png_fuzzer"
  says "png -max_total_time=7 "
  says_not "jpeg"
  succeeds scripts/fuzz
  reads "$box/calls"
  says "jpeg -max_total_time=20 "
  fails scripts/fuzz gif
  says "there is no fuzzer 'gif'"
}

test_fuzz_names_the_input_that_does_harm() {
  has_fuzzer jpeg 'echo "Test unit written to build/fuzz/crashes/jpeg-crash-1"; exit 77'
  fails scripts/fuzz
  says "error: the fuzzer 'jpeg' found an input that does harm: build/fuzz/crashes/jpeg-crash-1"
  says "build/fuzz/jpeg_fuzzer build/fuzz/crashes/jpeg-crash-1"
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
  for target in quickstart test parity test-gpu fuzz build format lint bench package clean help; do
    says "make $target "
  done
}
