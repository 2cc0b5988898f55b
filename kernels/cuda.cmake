# The kernels of the cuda device: a translation unit for each variant, fused kernel and local helper, from the same
# headers as the host's. Links no MPI; needs no GPU.
set(cuda_units "")
function(attune_cuda_unit ATTUNE_VARIANT ATTUNE_VARIANT_TYPE ATTUNE_VARIANT_HEADER ATTUNE_CUDA_MAKER)
  set(ATTUNE_CUDA_MAKER_HEADER cuda_kernels.cuh)
  if(ATTUNE_CUDA_MAKER STREQUAL "make_fused_kernels")
    set(ATTUNE_CUDA_MAKER_HEADER cuda_fused.cuh)
  endif()
  set(unit ${generated}/cuda_${ATTUNE_VARIANT}.cu)
  configure_file(${CMAKE_CURRENT_SOURCE_DIR}/runtime/instantiate_cuda.cu.in ${unit} @ONLY)
  set(cuda_units ${cuda_units} ${unit} PARENT_SCOPE)
endfunction()
# But those for several sockets: GPUs of one team reach each other alike. A variant's traits say so, here as in
# cuda_registry.cpp; where the two disagree, kernels_of<that variant> is not found by the linker.
foreach(variant IN LISTS attune_variants)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS variants/${variant}.h)
  file(STRINGS variants/${variant}.h for_domains REGEX "Needs::domains")
  if(NOT for_domains)
    attune_cuda_unit(${variant} variants::${variant} variants/${variant}.h make_kernels)
  endif()
endforeach()
foreach(variant IN LISTS attune_fused_variants)
  attune_cuda_unit(${variant} variants::${variant} variants/${variant}.h make_fused_kernels)
endforeach()
attune_cuda_unit(local_reduce host::local_reduce runtime/local_reduce.h make_kernels)
attune_cuda_unit(local_rms_norm host::local_rms_norm runtime/local_rms_norm.h make_fused_kernels)
set(cuda_sources ${cuda_units} ${CMAKE_CURRENT_SOURCE_DIR}/runtime/cuda_start_line.cu
  ${CMAKE_CURRENT_SOURCE_DIR}/runtime/cuda_registry.cpp)
set_property(GLOBAL PROPERTY attune_cuda_kernel_sources ${cuda_sources})  # for builds that execute kernels on a CPU

# Objects that end in attune_attune: no target that links it has to know of CUDA as a language.
add_library(attune_cuda_kernels OBJECT ${cuda_sources})
target_link_libraries(attune_cuda_kernels PUBLIC attune_descriptors PRIVATE attune_options)
target_include_directories(attune_cuda_kernels PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
# 1675: pragmas of host compilers; 186: unsigned elements compared with zero.
# -fmad=false: products are rounded before they are added, as on host, so that both give the same bits.
set(attune_cuda_options --expt-relaxed-constexpr -fmad=false -Werror=all-warnings -diag-suppress=1675,186)
set_property(GLOBAL PROPERTY attune_cuda_options ${attune_cuda_options})
# What is templated and what is a branch at run time (runtime/cuda_kernels.cuh says why) costs, with nvcc 13.0: 8.2 CPU
# minutes of kernels for each architecture (24.5 for 80;90;100; a build for one: about half of that on two cores), and
# 23.6 MB of stripped libattune.a for those three, 23.2 MB for one. Packed, the code of several architectures takes a
# third of the room; of one, it is not worth the time.
if(CMAKE_CUDA_ARCHITECTURES MATCHES ";|^all")
  list(APPEND attune_cuda_options -Xfatbin=-compress-all)
endif()
target_compile_options(attune_cuda_kernels PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:${attune_cuda_options}>")
