# How everything of ours is compiled and linked.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1 -DNDEBUG")

option(LOCKSTEP_WERROR "Treat warnings as errors (continuous integration does)" OFF)
set(LOCKSTEP_SANITIZE "" CACHE STRING "Sanitizers, as -fsanitize= takes them")
set(LOCKSTEP_CPU_BASE x86-64-v2 CACHE STRING "The oldest CPU level that the build runs on: x86-64, x86-64-v2, -v3 or -v4")
set_property(CACHE LOCKSTEP_CPU_BASE PROPERTY STRINGS x86-64 x86-64-v2 x86-64-v3 x86-64-v4)
if(NOT LOCKSTEP_CPU_BASE MATCHES "^x86-64(-v[234])?$")
  message(FATAL_ERROR "LOCKSTEP_CPU_BASE is '${LOCKSTEP_CPU_BASE}'; it must be x86-64, x86-64-v2, x86-64-v3 or x86-64-v4")
endif()

add_compile_options(-march=${LOCKSTEP_CPU_BASE})
add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wformat=2 -Wundef)
add_compile_options(-Wno-missing-field-initializers)  # options are structs of which a caller names a few fields
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  add_compile_options(-Wno-array-bounds -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread)  # seen where std::string is at fault
endif()
if(LOCKSTEP_WERROR)
  add_compile_options(-Werror)
endif()

# One flag for libraries and programs alike, so that they can share one precompiled header; programs are still linked
# as position-independent executables.
add_compile_options(-fPIC)
add_link_options($<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-pie>)

# Hardening.
add_compile_options(-fstack-protector-strong -fcf-protection -fstack-clash-protection)
add_compile_definitions(_GLIBCXX_ASSERTIONS)
add_link_options(-Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)
if(LOCKSTEP_SANITIZE)
  add_compile_options(-fsanitize=${LOCKSTEP_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${LOCKSTEP_SANITIZE})
elseif(NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
  # Some compilers predefine another level; the last word is ours.
  add_compile_options(-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
endif()

# Speed of the build.
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_compile_options(-fpch-instantiate-templates)
else()
  add_compile_options(-fpch-preprocess)  # lets ccache see through a precompiled header
endif()
find_program(LOCKSTEP_CCACHE ccache)
mark_as_advanced(LOCKSTEP_CCACHE)
if(LOCKSTEP_CCACHE)
  # What one clone has compiled serves another one: paths below the sources are hashed as relative ones.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros
    CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${LOCKSTEP_CCACHE})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
  set(LOCKSTEP_CCACHE_STATE "in use")
else()
  set(LOCKSTEP_CCACHE_STATE "not found")
endif()

include(CheckLinkerFlag)
set(LOCKSTEP_LINKER "the compiler's default")
foreach(linker mold lld)
  check_linker_flag(CXX -fuse-ld=${linker} LOCKSTEP_LINKS_WITH_${linker})
  if(LOCKSTEP_LINKS_WITH_${linker})
    add_link_options(-fuse-ld=${linker})
    set(LOCKSTEP_LINKER ${linker})
    break()
  endif()
endforeach()
