# The imported target `torch_cpu` for a libtorch at `root`; also installed, for find_package(Lockstep).
function(lockstep_add_torch_target root)
  add_library(torch_cpu INTERFACE IMPORTED GLOBAL)
  target_include_directories(torch_cpu SYSTEM INTERFACE
    ${root}/include ${root}/include/torch/csrc/api/include)
  # libtorch's folder holds the headers of the fmt it was built with, and they come before the system's; liblockstep.so
  # has their functions.
  target_compile_definitions(torch_cpu INTERFACE USE_DISTRIBUTED USE_C10D_GLOO FMT_SHARED)
  # Its OpenMP runtime too, whose threads our kernels share.
  file(GLOB openmp ${root}/lib/libgomp*.so*)
  target_link_libraries(torch_cpu INTERFACE ${root}/lib/libtorch_cpu.so ${root}/lib/libc10.so ${openmp})
  # libtorch's own dependencies are found through its RPATH, at run time and by the linker.
  target_link_options(torch_cpu INTERFACE -Wl,--disable-new-dtags -Wl,-rpath-link,${root}/lib -Wl,--allow-shlib-undefined)
endfunction()
