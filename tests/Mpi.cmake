# Tests on Open MPI and MPICH, for those that are there, started by their own launchers.
set(under_mpi ${CMAKE_CURRENT_SOURCE_DIR}/support/under-mpi)

# lockstep_add_mpi_test(name mpi ranks LABEL label [TIMEOUT seconds] [ENVIRONMENT ...] COMMAND ...)
function(lockstep_add_mpi_test name mpi ranks)
  cmake_parse_arguments(arg "" "LABEL;TIMEOUT" "ENVIRONMENT;COMMAND" ${ARGN})
  add_test(NAME ${name} COMMAND ${under_mpi} ${mpi} ${ranks} ${arg_COMMAND})
  set_tests_properties(${name} PROPERTIES LABELS ${arg_LABEL} TIMEOUT ${arg_TIMEOUT} PROCESSORS 2
    ENVIRONMENT "LOCKSTEP_TEST_BACKEND=mpi;${arg_ENVIRONMENT}")
endfunction()

foreach(mpi IN LISTS LOCKSTEP_MPIS)
  foreach(ranks 1 2 3 4)
    lockstep_add_mpi_test(ranks.conformance_tests.mpi-${mpi}.${ranks} ${mpi} ${ranks}
      LABEL ranks TIMEOUT 120 COMMAND $<TARGET_FILE:conformance_tests>)
  endforeach()
  foreach(ranks 2 3 4)
    lockstep_add_mpi_test(ranks.data_parallel_tests.mpi-${mpi}.${ranks} ${mpi} ${ranks}
      LABEL ranks TIMEOUT 120 COMMAND $<TARGET_FILE:data_parallel_tests>)
    lockstep_add_mpi_test(ranks.parallel_optimizer_tests.mpi-${mpi}.${ranks} ${mpi} ${ranks}
      LABEL ranks TIMEOUT 120 COMMAND $<TARGET_FILE:parallel_optimizer_tests>)
  endforeach()
  foreach(level serialized funneled)
    lockstep_add_mpi_test(ranks.conformance_tests.mpi-${mpi}-${level}.3 ${mpi} 3
      LABEL ranks TIMEOUT 120 ENVIRONMENT LOCKSTEP_MPI_THREADS=${level} COMMAND $<TARGET_FILE:conformance_tests>)
  endforeach()
  lockstep_add_mpi_test(full.large_tests.mpi-${mpi}.2 ${mpi} 2
    LABEL full TIMEOUT 600 COMMAND $<TARGET_FILE:large_tests>)

  add_executable(host_program_${mpi} ranks/mpi/host_program.cpp)
  target_include_directories(host_program_${mpi} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(host_program_${mpi} PRIVATE lockstep mpi_${mpi})
  lockstep_precompile(host_program_${mpi} torch)
  foreach(level multiple serialized)
    lockstep_add_mpi_test(ranks.host_program.${mpi}-${level}.2 ${mpi} 2
      LABEL ranks TIMEOUT 60 COMMAND $<TARGET_FILE:host_program_${mpi}> ${level})
  endforeach()
  lockstep_add_mpi_test(ranks.host_program.${mpi}-funneled.1 ${mpi} 1
    LABEL ranks TIMEOUT 60 COMMAND $<TARGET_FILE:host_program_${mpi}> funneled)

  add_executable(mpi_types_tests_${mpi} ranks/mpi/bytes_type_test.cpp
    ${PROJECT_SOURCE_DIR}/src/comm/mpi/bytes_type.cpp ${PROJECT_SOURCE_DIR}/src/comm/mpi/check.cpp)
  target_include_directories(mpi_types_tests_${mpi} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(mpi_types_tests_${mpi} PRIVATE GTest::gmock lockstep_base mpi_${mpi})
  lockstep_add_mpi_test(ranks.mpi_types_tests.${mpi}.1 ${mpi} 1
    LABEL ranks TIMEOUT 60 COMMAND $<TARGET_FILE:mpi_types_tests_${mpi}>)
endforeach()

foreach(mpi IN LISTS LOCKSTEP_MPIS)
  add_test(NAME cli.bench_allreduce.${mpi}
    COMMAND lockstep_command bench allreduce --backend mpi -n 2 --sizes 64K --time 20)
  set_tests_properties(cli.bench_allreduce.${mpi} PROPERTIES LABELS cli TIMEOUT 60 PROCESSORS 2
    ENVIRONMENT LOCKSTEP_MPI=${mpi} PASS_REGULAR_EXPRESSION "2 ranks, mpi.*65,536 .*yes")
endforeach()

if(LOCKSTEP_MPIS)
  add_test(NAME cli.mpi_without_its_launcher
    COMMAND lockstep_command run -n 2 -- $<TARGET_FILE:lockstep-torch> bench allreduce --backend mpi)
  set_tests_properties(cli.mpi_without_its_launcher PROPERTIES LABELS cli TIMEOUT 60 PROCESSORS 2
    PASS_REGULAR_EXPRESSION "needs ranks that mpirun, mpiexec.hydra or srun started")
  add_executable(failing_rank fault/mpi/failing_rank.cpp)
  target_link_libraries(failing_rank PRIVATE lockstep)
  lockstep_precompile(failing_rank torch)
  lockstep_add_tests(mpi_fault_tests LABEL fault LIBRARIES lockstep_base SOURCES fault/mpi/mpi_fault_test.cpp)
  list(JOIN LOCKSTEP_MPIS "\",\"" mpis)
  target_compile_definitions(mpi_fault_tests PRIVATE LOCKSTEP_TEST_MPIS="${mpis}")
  add_dependencies(mpi_fault_tests failing_rank)
endif()
