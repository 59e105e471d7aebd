# Finds libtorch 2.11 and makes the imported target `torch_cpu`. The places, in order: LOCKSTEP_TORCH_ROOT (variable or
# environment), the wheel that scripts/setup put into .deps/, the torch that python3 imports.
#
# Only libtorch_cpu.so and libc10.so are linked: libtorch.so would bring CUDA's libraries along.
set(LOCKSTEP_TORCH_WANTED 2.11)
set(LOCKSTEP_TORCH_ROOT "" CACHE PATH "Folder of a libtorch 2.11, the one with include/ and lib/")

set(explicit_root "${LOCKSTEP_TORCH_ROOT}")
if(NOT explicit_root AND DEFINED ENV{LOCKSTEP_TORCH_ROOT})
  set(explicit_root "$ENV{LOCKSTEP_TORCH_ROOT}")
endif()

# Sets `out` to the version of the libtorch at `root`, or to nothing.
function(lockstep_read_torch_version root out)
  set(${out} "" PARENT_SCOPE)
  set(header ${root}/include/torch/headeronly/version.h)
  if(EXISTS ${header} AND EXISTS ${root}/lib/libtorch_cpu.so)
    file(STRINGS ${header} lines REGEX "define TORCH_VERSION_(MAJOR|MINOR|PATCH) [0-9]+")
    string(REGEX REPLACE ".*MAJOR ([0-9]+).*MINOR ([0-9]+).*PATCH ([0-9]+).*" "\\1.\\2.\\3" version "${lines}")
    set(${out} ${version} PARENT_SCOPE)
  endif()
endfunction()

set(next_step "Run scripts/setup, which installs the right one, or set LOCKSTEP_TORCH_ROOT to the folder of a libtorch ${LOCKSTEP_TORCH_WANTED}.")
if(explicit_root)
  set(candidates ${explicit_root})
else()
  set(candidates ${PROJECT_SOURCE_DIR}/.deps/wheels/torch)
  if(NOT EXISTS ${candidates})
    execute_process(
      COMMAND python3 -c "import importlib.util as u; s = u.find_spec('torch'); print(s.submodule_search_locations[0] if s else '')"
      OUTPUT_VARIABLE python_root OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(python_root)
      set(candidates ${python_root})
    endif()
  endif()
endif()
lockstep_read_torch_version(${candidates} LOCKSTEP_TORCH_VERSION)
if(NOT LOCKSTEP_TORCH_VERSION)
  message(FATAL_ERROR "No libtorch at ${candidates}. ${next_step}")
elseif(NOT LOCKSTEP_TORCH_VERSION MATCHES "^${LOCKSTEP_TORCH_WANTED}\\.")
  message(FATAL_ERROR "The libtorch at ${candidates} is ${LOCKSTEP_TORCH_VERSION}; Lockstep needs ${LOCKSTEP_TORCH_WANTED}. ${next_step}")
endif()
get_filename_component(LOCKSTEP_TORCH_ROOT_FOUND ${candidates} REALPATH)

include(${CMAKE_CURRENT_LIST_DIR}/TorchTarget.cmake)
lockstep_add_torch_target(${LOCKSTEP_TORCH_ROOT_FOUND})
