# scripts/setup: what it installs, and what it says when it cannot.
# shellcheck shell=bash
# shellcheck disable=SC2154,SC2016  # box is set by tests/scripts/run; fakes expand their own arguments

test_with_nothing_missing_it_installs_nothing() {
  has_wheels
  succeeds scripts/setup
  says "nothing to install; libtorch 2.11.0 is in .deps/wheels/torch"
  says_not "apt-get was called"
}

test_dry_run_says_what_and_why_and_changes_nothing() {
  lacks_a_package
  succeeds scripts/setup --dry-run
  says "libnone-dev          does nothing"
  says "torch 2.11.0"
  is_not_there .deps
  is_not_there build
}

test_missing_packages_come_through_apt() {
  lacks_a_package
  has_wheels
  may_become_root
  fake apt-get 'echo "$@" >>'"$box"'/apt-calls'
  succeeds scripts/setup
  reads "$box/apt-calls"
  says "update"
  says "install -y --no-install-recommends libnone-dev"
}

test_what_came_by_other_ways_than_apt_counts() {
  has_wheels
  lacks_a_package cmd:frobnicate
  lacks_a_package hdr:frob/nicate.h libother-dev
  fake frobnicate ':'
  mkdir -p "$box/spack/include/frob"
  touch "$box/spack/include/frob/nicate.h"
  CMAKE_PREFIX_PATH=/nowhere:$box/spack succeeds scripts/setup
  says "nothing to install"
}

test_without_root_it_names_the_administrators_command() {
  lacks_a_package
  has_wheels
  chmod -R a+rwX .
  fails as_nobody scripts/setup
  says "1 system package is missing"
  says "apt-get update && apt-get install -y --no-install-recommends libnone-dev"
  is_distribution fedora Fedora
  fails as_nobody scripts/setup
  says "dnf install none-devel"
  is_distribution opensuse-leap openSUSE
  fails as_nobody scripts/setup
  says "zypper install none-zypper"
}

test_without_root_spack_is_offered_where_it_is() {
  lacks_a_package
  has_wheels
  chmod -R a+rwX .
  fake spack ':'
  fails as_nobody scripts/setup
  says "or, with no administrator, run: spack install none && spack load none"
}

test_without_root_the_wheels_are_installed_all_the_same() {
  pin_small_wheel
  lacks_a_package
  chmod -R a+rwX .
  fails as_nobody scripts/setup
  says "apt-get install"
  is_there .deps/wheels/torch/lib/libtorch_cpu.so
}

test_what_a_manager_does_not_have_is_named() {
  has_wheels
  echo 'build libnone-dev - none none cmd:no-such-program does nothing' >>scripts/packages.txt
  is_distribution fedora Fedora
  fails scripts/setup
  says "get from elsewhere: libnone-dev"
}

test_an_unknown_distribution_gets_the_list() {
  lacks_a_package
  has_wheels
  is_distribution frobnix 'Frobnix 7'
  fails scripts/setup
  says "libnone-dev          does nothing"
  says "does not know how Frobnix 7 installs packages"
  says "  next: install the packages listed above"
}

test_apt_without_network_says_so() {
  [[ -x /usr/bin/apt-get ]] || skip "needs apt"
  lacks_a_package
  has_wheels
  rm "$box/bin/apt-get"
  may_become_root
  mkdir -p "$box"/apt/{lists/partial,archives/partial,none.d}
  echo 'deb [trusted=yes] http://127.0.0.1:9/debian stable main' >"$box/apt/sources.list"
  cat >"$box/apt.conf" <<CONF
Dir::Etc::sourcelist "$box/apt/sources.list";
Dir::Etc::sourceparts "$box/apt/none.d";
Dir::State::lists "$box/apt/lists";
Dir::Cache "$box/apt";
APT::Sandbox::User "";
Acquire::Retries "0";
Debug::NoLocking "1";
APT::Update::Post-Invoke-Success "";
APT::Update::Post-Invoke "";
CONF
  export APT_CONFIG=$box/apt.conf
  fails scripts/setup
  says "no network: apt could not reach its package sources"
  says "  next: connect the machine"
}

test_pip_without_network_says_so() {
  needs_pip
  fails scripts/setup
  says "no network: pip could not reach its package index"
  says "  next: connect the machine"
  is_not_there .deps/wheels
}

test_a_wheel_with_another_hash_is_not_installed() {
  pin_small_wheel
  sed -i 's/sha256:..../sha256:0000/' scripts/wheels.txt
  fails scripts/setup
  says "a wheel is not the one that scripts/wheels.txt pins"
  is_not_there .deps/wheels
}

test_a_killed_setup_leaves_nothing_that_looks_whole() {
  pin_small_wheel
  fake python3 'case "$*" in
    *"pip install"*) while [[ $1 != --target ]]; do shift; done
      mkdir -p "$2/torch" && kill -9 "$(<'"$box"'/setup-pid)" && sleep 1 ;;
    *) exec -a python3 '"$(command -v python3)"' "$@" ;;
  esac'
  fails bash -c "echo \$\$ >$box/setup-pid; exec scripts/setup"
  is_not_there .deps/wheels
  rm "$box/bin/python3"
  succeeds scripts/setup
  is_there .deps/wheels/torch/lib/libtorch_cpu.so
  is_not_there .deps/wheels.tmp
}

test_wheels_of_an_older_pin_are_replaced() {
  pin_small_wheel
  has_wheels
  echo 'torch==2.10.0 --hash=sha256:00' >.deps/wheels/.pinned
  touch .deps/wheels/old
  succeeds scripts/setup
  is_not_there .deps/wheels/old
  succeeds scripts/setup
  says "nothing to install"
}

test_oneccl_comes_only_where_it_is_asked_for() {
  has_wheels
  pin_small_ccl
  succeeds scripts/setup
  is_not_there .deps/ccl
  succeeds scripts/setup --group build --group ccl
  is_there .deps/ccl/lib/libccl.a
  is_there .deps/ccl/include/oneapi/ccl.hpp
  is_there .deps/ccl/LICENSE.txt
  is_not_there .deps/ccl.tmp
  succeeds scripts/setup --group build --group ccl
  says "nothing to install"
}

test_a_oneccl_with_another_hash_is_not_installed() {
  has_wheels
  pin_small_ccl
  sed -i 's/sha256:..../sha256:0000/' scripts/ccl-wheels.txt
  fails scripts/setup --group ccl
  says "a wheel is not the one that scripts/ccl-wheels.txt pins"
  is_not_there .deps/ccl
  is_there .deps/wheels
}

test_too_little_disk_is_said_before_anything_is_fetched() {
  unshare --mount mount -t tmpfs none /mnt 2>/dev/null || skip "needs root and mount namespaces"
  fails unshare --mount bash -c "mkdir $box/small && mount -t tmpfs -o size=50m none $box/small &&
    cp -r . $box/small/ && cd $box/small && scripts/setup"
  says "too little disk"
  says "50 MB free"
  says "  next: free some space"
  says_not "fetching"
}

test_a_folder_of_somebody_else_is_named() {
  ((EUID == 0)) || skip "needs root"
  pin_small_wheel
  chmod -R go-w .
  fails as_nobody scripts/setup
  says "cannot write to $box/lockstep, which belongs to root"
  says "  next: run as that user"
}

test_torch_root_without_libtorch_is_an_error() {
  export LOCKSTEP_TORCH_ROOT=$box/nowhere
  fails scripts/setup
  says "LOCKSTEP_TORCH_ROOT is $box/nowhere, where there is no libtorch; Lockstep needs 2.11"
  says "  next: point it at"
}

test_torch_root_of_another_version_is_an_error() {
  make_torch "$box/torch" 2.9.1
  export LOCKSTEP_TORCH_ROOT=$box/torch
  fails scripts/setup
  says "where there is libtorch 2.9.1; Lockstep needs 2.11"
}

test_torch_root_takes_the_place_of_the_wheels() {
  make_torch "$box/torch" 2.11.1
  LOCKSTEP_TORCH_ROOT=$box/torch succeeds scripts/setup
  says "libtorch 2.11.1 is in $box/torch"
  is_not_there .deps/wheels
}

test_torch_root_may_be_given_from_where_one_stands() {
  make_torch "$box/torch" 2.11.0
  cd "$box" || exit
  LOCKSTEP_TORCH_ROOT=torch succeeds lockstep/scripts/setup
  says "libtorch 2.11.0 is in $box/torch"
}

test_a_fitting_torch_of_python_takes_the_place_of_the_wheels() {
  make_torch "$box/site/torch" 2.11.0
  succeeds scripts/setup
  says "libtorch 2.11.0 is in $box/site/torch"
  is_not_there .deps/wheels
}

test_another_torch_of_python_is_left_alone() {
  pin_small_wheel
  make_torch "$box/site/torch" 2.9.1
  succeeds scripts/setup
  says "python3 has torch 2.9.1 in $box/site/torch, which stays as it is"
  is_there .deps/wheels/torch
}

test_another_architecture_is_named() {
  fake uname 'echo aarch64'
  fails scripts/setup
  says "this machine is aarch64, and Lockstep runs on x86_64"
}

test_old_tools_are_named() {
  has_wheels
  fake cmake 'echo "cmake version 3.18.4"'
  fails scripts/setup
  says "cmake is 3.18.4, and Lockstep needs 3.22"
  fake cmake 'echo "cmake version 3.25.1"'
  fake g++ 'echo 9.4.0'
  fails scripts/setup
  says "g++ is 9.4.0, and C++20 needs 11"
}

test_wrong_arguments_are_named() {
  fails scripts/setup --frobnicate
  says "unknown argument '--frobnicate'"
  fails scripts/setup --group frob
  says "there is no group 'frob'"
  says "build"
}

test_every_row_of_the_package_list_is_whole() {
  local row fields
  while IFS= read -r row; do
    read -ra fields <<<"$row"
    ((${#fields[@]} >= 7)) || wrong "too few columns: $row"
    [[ ${fields[5]} =~ ^(cmd|hdr|mod):. ]] || wrong "no such probe: $row"
  done < <(sed '/^#/d; /^$/d' "$repository/scripts/packages.txt")
}
