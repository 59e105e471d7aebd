# Which components go into which package. An archive is one and brings the libraries it needs; .deb packages depend on
# them, and there is one for each MPI besides.
set(CPACK_COMPONENTS_ALL runtime development ${CPACK_LOCKSTEP_MPIS})
if(CPACK_GENERATOR STREQUAL "TGZ")
  set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
  list(APPEND CPACK_COMPONENTS_ALL bundled)
else()
  set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
  set(CPACK_COMPONENT_INCLUDE_TOPLEVEL_DIRECTORY OFF)
endif()
