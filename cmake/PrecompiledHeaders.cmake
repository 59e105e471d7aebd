# Two precompiled headers, each made once and shared by every target: most of a compiler's time goes into the headers of
# libtorch, CLI11, nlohmann/json and GoogleTest. Sources still include what they use; nothing may rely on these lists.
#
# clang reads a precompiled header piece by piece and can afford everything; g++ loads it whole for every file, so it
# gets only what most files need.
set(plain_headers
  <algorithm> <array> <chrono> <filesystem> <functional> <map> <memory> <optional> <string> <vector> <fmt/format.h>)
set(torch_headers ${plain_headers} <torch/csrc/distributed/c10d/ProcessGroup.hpp>)
set(header_libraries fmt::fmt)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  list(APPEND plain_headers <CLI/App.hpp> <CLI/Config.hpp> <CLI/Formatter.hpp> <nlohmann/json.hpp>)
  list(APPEND torch_headers <torch/torch.h> <nlohmann/json.hpp>)
  list(APPEND header_libraries CLI11::CLI11 nlohmann_json::nlohmann_json)
  if(BUILD_TESTING)
    list(APPEND plain_headers <gmock/gmock.h>)
    list(APPEND torch_headers <gmock/gmock.h>)
    list(APPEND header_libraries GTest::gmock)
  endif()
endif()

file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/precompiled.cpp CONTENT "// Gives the precompiled headers a target.\n")
foreach(kind plain torch)
  add_library(precompiled_${kind} OBJECT ${PROJECT_BINARY_DIR}/generated/precompiled.cpp)
  target_precompile_headers(precompiled_${kind} PRIVATE ${${kind}_headers})
  target_link_libraries(precompiled_${kind} PRIVATE ${header_libraries})
endforeach()
target_link_libraries(precompiled_torch PRIVATE torch_cpu)

# Compiles `target` with one of them.
function(lockstep_precompile target kind)
  target_precompile_headers(${target} REUSE_FROM precompiled_${kind})
endfunction()
