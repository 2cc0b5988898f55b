# The functions that tests/CMakeLists.txt describes.

# Open MPI refuses root and more ranks than cores unless told; other MPIs do not know the flags.
set(attune_mpirun ${MPIEXEC_EXECUTABLE})
execute_process(COMMAND ${MPIEXEC_EXECUTABLE} --version OUTPUT_VARIABLE attune_mpiexec_version ERROR_QUIET)
if(attune_mpiexec_version MATCHES "Open MPI|OpenRTE")
  list(APPEND attune_mpirun --allow-run-as-root --oversubscribe --bind-to none)
endif()
list(JOIN attune_mpirun " " attune_mpirun_words)

set(attune_test_environment
  "OMPI_ALLOW_RUN_AS_ROOT=1"
  "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"
  "OMPI_MCA_rmaps_base_oversubscribe=1"
  "OMPI_MCA_mpi_yield_when_idle=1"
  "LSAN_OPTIONS=suppressions=${CMAKE_CURRENT_SOURCE_DIR}/support/lsan.supp:print_suppressions=0"
  "TSAN_OPTIONS=suppressions=${CMAKE_CURRENT_SOURCE_DIR}/support/tsan.supp:halt_on_error=1"
  "UBSAN_OPTIONS=print_stacktrace=1"
  "ATTUNE=${PROJECT_BINARY_DIR}/attune"
  "MPIRUN=${attune_mpirun_words}"
  "PYTHON=${Python3_EXECUTABLE}"
  "ATTUNE_SOURCE_DIR=${PROJECT_SOURCE_DIR}"
  "ATTUNE_BINARY_DIR=${PROJECT_BINARY_DIR}")

# The ranks of an MPI test share one GoogleTest main.
add_library(attune_mpi_main STATIC support/mpi_main.cpp)
target_link_libraries(attune_mpi_main PUBLIC MPI::MPI_C GTest::gtest PRIVATE attune_options)
target_compile_definitions(attune_mpi_main PUBLIC OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)

function(attune_require_test_words name)
  foreach(word LABELS TIMEOUT MEMORY)
    if(NOT DEFINED arg_${word})
      message(FATAL_ERROR "test ${name}: ${word} is missing")
    endif()
  endforeach()
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "test ${name}: unknown words: ${arg_UNPARSED_ARGUMENTS}")
  endif()
endfunction()

# Registers one command as a test, unless it needs more memory than this build allows.
function(attune_register_test name processors)
  if(arg_MEMORY GREATER ATTUNE_TEST_MEMORY_LIMIT)
    message(STATUS "test ${name} needs ${arg_MEMORY} MiB: not registered (ATTUNE_TEST_MEMORY_LIMIT=${ATTUNE_TEST_MEMORY_LIMIT})")
    return()
  endif()
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/folders/${name})
  file(MAKE_DIRECTORY ${folder})
  add_test(NAME ${name} COMMAND ${ARGN} WORKING_DIRECTORY ${folder})
  set(seconds ${arg_TIMEOUT})
  if(ATTUNE_SANITIZE)
    math(EXPR seconds "${seconds} * 5")
  endif()
  set_tests_properties(${name} PROPERTIES
    LABELS "${arg_LABELS}" TIMEOUT ${seconds} PROCESSORS ${processors} SKIP_RETURN_CODE 77
    ENVIRONMENT "${attune_test_environment}")
endfunction()

# MPI leaves memory in modules that are unloaded when leaks are looked for: no name is left to suppress it by. The tests on
# teams of threads look for leaks of our own.
function(attune_forgive_leaks_of_mpi)
  set_property(TEST ${ARGN} APPEND PROPERTY ENVIRONMENT "ASAN_OPTIONS=detect_leaks=0")
endfunction()

# What a build for ThreadSanitizer needs: the tests of label kernels.
add_custom_target(attune_kernel_tests)

function(attune_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "OWN_MAIN" "TIMEOUT;MEMORY" "SOURCES;LIBS;LABELS;RANKS")
  attune_require_test_words(${name})
  add_executable(${name} ${arg_SOURCES})
  attune_unite(${name} 0)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/kernels ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE attune_options ${arg_LIBS} Threads::Threads)
  if("kernels" IN_LIST arg_LABELS)
    add_dependencies(attune_kernel_tests ${name})
  endif()
  if(NOT arg_OWN_MAIN AND arg_RANKS)
    target_link_libraries(${name} PRIVATE attune_mpi_main)
  elseif(NOT arg_OWN_MAIN)
    target_link_libraries(${name} PRIVATE GTest::gtest_main)
  endif()
  if(NOT arg_RANKS)
    attune_register_test(${name} 1 $<TARGET_FILE:${name}>)
    return()
  endif()
  foreach(ranks IN LISTS arg_RANKS)
    attune_register_test(${name}_n${ranks} ${ranks}
      ${attune_mpirun} ${MPIEXEC_NUMPROC_FLAG} ${ranks} $<TARGET_FILE:${name}>)
    if(TEST ${name}_n${ranks})
      attune_forgive_leaks_of_mpi(${name}_n${ranks})
    endif()
  endforeach()
endfunction()

function(attune_add_cli_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "SCRIPT;TIMEOUT;MEMORY;RANKS" "ARGS;LABELS")
  attune_require_test_words(${name})
  if(NOT arg_RANKS)
    set(arg_RANKS 1)
  endif()
  get_filename_component(script ${arg_SCRIPT} ABSOLUTE)
  set(interpreter bash)
  if(script MATCHES "\\.py$")
    set(interpreter ${Python3_EXECUTABLE})
  endif()
  attune_register_test(${name} ${arg_RANKS} ${interpreter} ${script} ${arg_ARGS})
  if(TEST ${name})
    attune_forgive_leaks_of_mpi(${name})
  endif()
endfunction()

function(attune_add_bench name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBS")
  find_package(benchmark REQUIRED)
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/kernels ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE attune_options ${arg_LIBS} benchmark::benchmark benchmark::benchmark_main)
  set(arg_LABELS bench)
  set(arg_TIMEOUT 60)
  set(arg_MEMORY 512)
  attune_register_test(${name} 1 $<TARGET_FILE:${name}> --benchmark_min_time=0.01)
endfunction()
