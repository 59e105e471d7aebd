# Which components go into which package. An archive brings the libraries it needs; a .deb depends on them.
set(CPACK_COMPONENTS_ALL runtime development)
if(CPACK_GENERATOR STREQUAL "TGZ")
  list(APPEND CPACK_COMPONENTS_ALL bundled)
endif()
