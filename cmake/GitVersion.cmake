# Makes <build>/generated/lockstep_version.h with the version as git describes it. As an include it adds the target
# `git_version`, which runs this same file as a script at each build and touches the header only when it changed.
if(NOT CMAKE_SCRIPT_MODE_FILE)
  set(LOCKSTEP_GENERATED_DIR ${PROJECT_BINARY_DIR}/generated)
  set(git_version_command
    ${CMAKE_COMMAND} -D SOURCE_DIR=${PROJECT_SOURCE_DIR} -D OUTPUT=${LOCKSTEP_GENERATED_DIR}/lockstep_version.h
    -D VERSION=${PROJECT_VERSION} -P ${CMAKE_CURRENT_LIST_FILE})
  execute_process(COMMAND ${git_version_command} COMMAND_ERROR_IS_FATAL ANY)
  add_custom_target(git_version COMMAND ${git_version_command}
    BYPRODUCTS ${LOCKSTEP_GENERATED_DIR}/lockstep_version.h COMMENT "")
  return()
endif()

# An archive of the sources has no .git; then the release number alone is the version.
set(revision "")
if(EXISTS ${SOURCE_DIR}/.git)
  execute_process(
    COMMAND git -C ${SOURCE_DIR} describe --always --dirty --abbrev=10 --exclude=*
    OUTPUT_VARIABLE described OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  if(NOT failed)
    set(revision ${described})
  endif()
endif()
set(content "#pragma once\n#define LOCKSTEP_VERSION \"${VERSION}\"\n#define LOCKSTEP_REVISION \"${revision}\"\n")
set(previous "")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} previous)
endif()
if(NOT content STREQUAL previous)
  file(WRITE ${OUTPUT} "${content}")
endif()
