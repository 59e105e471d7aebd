# Installation, find_package(Lockstep), and packages.
#
# The tree is relocatable: programs and libraries find one another, libtorch and the data through paths relative to
# themselves. libtorch is reached through the link lib/lockstep/torch. The build tree has the same shape, so what is
# tested is what is installed.
include(CMakePackageConfigHelpers)

set(torch_link ${CMAKE_INSTALL_LIBDIR}/lockstep/torch)
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/lib/lockstep ${PROJECT_BINARY_DIR}/share/lockstep)
file(CREATE_LINK ${LOCKSTEP_TORCH_ROOT_FOUND} ${PROJECT_BINARY_DIR}/lib/lockstep/torch SYMBOLIC)
file(CREATE_LINK ${PROJECT_SOURCE_DIR}/data ${PROJECT_BINARY_DIR}/share/lockstep/data SYMBOLIC)
file(CREATE_LINK ${PROJECT_SOURCE_DIR}/configs ${PROJECT_BINARY_DIR}/share/lockstep/configs SYMBOLIC)

get_property(examples GLOBAL PROPERTY LOCKSTEP_EXAMPLES)
install(TARGETS lockstep_command lockstep-data lockstep-torch ${examples} RUNTIME_DEPENDENCY_SET dependencies COMPONENT runtime)
install(TARGETS lockstep EXPORT LockstepTargets RUNTIME_DEPENDENCY_SET dependencies
  LIBRARY COMPONENT runtime NAMELINK_COMPONENT development)
foreach(plugin_component "cuda runtime" "ccl runtime" "mpi_openmpi openmpi" "mpi_mpich mpich")
  string(REPLACE " " ";" plugin_component ${plugin_component})
  list(GET plugin_component 0 plugin)
  list(GET plugin_component 1 component)
  if(TARGET lockstep_${plugin})
    install(TARGETS lockstep_${plugin}
      LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/lockstep/plugins COMPONENT ${component})
  endif()
endforeach()
if(TARGET lockstep_ccl)
  # oneCCL is part of that plugin; its licence asks for this.
  install(FILES ${LOCKSTEP_CCL_ROOT}/LICENSE.txt TYPE DOC RENAME oneCCL-LICENSE.txt COMPONENT runtime)
endif()
install(PROGRAMS apps/lockstep/lockstep-link-torch TYPE BIN COMPONENT runtime)
install(DIRECTORY data/ DESTINATION ${CMAKE_INSTALL_DATADIR}/lockstep/data COMPONENT runtime)
install(DIRECTORY configs/ DESTINATION ${CMAKE_INSTALL_DATADIR}/lockstep/configs COMPONENT runtime)
install(FILES LICENSE README.md TYPE DOC COMPONENT runtime)
install(DIRECTORY include/ TYPE INCLUDE COMPONENT development)

# On the machine that built it, the link to libtorch comes with the installation; a package leaves it to
# lockstep-link-torch, because libtorch lies elsewhere there.
install(CODE "
  set(link \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${torch_link}\")
  get_filename_component(folder \"\${link}\" DIRECTORY)
  file(MAKE_DIRECTORY \"\${folder}\")
  file(CREATE_LINK \"${LOCKSTEP_TORCH_ROOT_FOUND}\" \"\${link}\" SYMBOLIC)
  message(STATUS \"Linked: \${link} -> ${LOCKSTEP_TORCH_ROOT_FOUND}\")" COMPONENT torch_link)

# The libraries of this machine that a plain archive must bring along; a .deb names them as dependencies instead.
install(RUNTIME_DEPENDENCY_SET dependencies
  PRE_EXCLUDE_REGEXES "^libtorch" "^libc10" "^libgomp" "^libcu" "^ld-linux" "^lib(c|m|dl|rt|pthread|gcc_s|stdc\\+\\+)\\.so"
  POST_EXCLUDE_REGEXES "${LOCKSTEP_TORCH_ROOT_FOUND}" "${PROJECT_BINARY_DIR}"
  DIRECTORIES ${LOCKSTEP_TORCH_ROOT_FOUND}/lib
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT bundled)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Lockstep)
install(EXPORT LockstepTargets NAMESPACE Lockstep:: DESTINATION ${package_dir} COMPONENT development)
configure_package_config_file(cmake/LockstepConfig.cmake.in ${PROJECT_BINARY_DIR}/LockstepConfig.cmake
  INSTALL_DESTINATION ${package_dir} PATH_VARS torch_link)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/LockstepConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/LockstepConfig.cmake ${PROJECT_BINARY_DIR}/LockstepConfigVersion.cmake
  cmake/TorchTarget.cmake DESTINATION ${package_dir} COMPONENT development)

set(CPACK_PACKAGE_NAME lockstep)
set(CPACK_PACKAGE_VENDOR Lockstep)
set(CPACK_PACKAGE_CONTACT "Lockstep maintainers")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGE_FILE_NAME lockstep-${PROJECT_VERSION}-linux-x86_64)
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_GENERATOR TGZ DEB)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
# The plugins for MPI have .deb packages of their own, so that lockstep itself does not depend on two MPIs.
set(CPACK_COMPONENT_RUNTIME_GROUP lockstep)
set(CPACK_COMPONENT_DEVELOPMENT_GROUP lockstep)
set(CPACK_DEBIAN_LOCKSTEP_PACKAGE_NAME lockstep)
foreach(mpi openmpi mpich)
  string(TOUPPER ${mpi} MPI)
  set(CPACK_COMPONENT_${MPI}_GROUP ${mpi})
  set(CPACK_DEBIAN_${MPI}_PACKAGE_NAME lockstep-mpi-${mpi})
  set(CPACK_DEBIAN_${MPI}_PACKAGE_DEPENDS "lockstep (= ${PROJECT_VERSION})")
endforeach()
set(CPACK_LOCKSTEP_MPIS "${LOCKSTEP_MPIS}")
set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_SOURCE_DIR}/cmake/PackageComponents.cmake)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
set(CPACK_COMPONENT_INCLUDE_TOPLEVEL_DIRECTORY ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/lib)  # where plugins find our own library
if(TARGET lockstep_ccl)
  set(CPACK_DEBIAN_LOCKSTEP_PACKAGE_RECOMMENDS libfabric1)  # the plugin loads it by name
endif()
set(CPACK_DEBIAN_LOCKSTEP_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/cmake/debian/postinst ${PROJECT_SOURCE_DIR}/cmake/debian/prerm)
include(CPack)
