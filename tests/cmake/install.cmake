# cmake --install: the library, the headers that an application sees, schemas and sweep configurations, and the
# CMake package (find_package(attune), then link attune::attune). The program is installed by src.
include(CMakePackageConfigHelpers)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/attune)

foreach(part options descriptors dispatch attune)
  set_target_properties(attune_${part} PROPERTIES EXPORT_NAME ${part})
endforeach()
install(TARGETS attune_options attune_descriptors attune_dispatch attune_attune EXPORT attune_targets)
install(EXPORT attune_targets FILE attuneTargets.cmake NAMESPACE attune:: DESTINATION ${package})
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/attuneConfig.cmake @ONLY CONTENT [[
include(CMakeFindDependencyMacro)
get_property(attune_languages GLOBAL PROPERTY ENABLED_LANGUAGES)
if(NOT C IN_LIST attune_languages)
  enable_language(C)  # FindMPI asks the C compiler wrapper
endif()
find_dependency(Threads)
find_dependency(MPI COMPONENTS C)
find_dependency(fmt)
if(@ATTUNE_HAVE_CUDA@)
  find_dependency(CUDAToolkit)
endif()
include(${CMAKE_CURRENT_LIST_DIR}/attuneTargets.cmake)
]])
write_basic_package_version_file(${PROJECT_BINARY_DIR}/attuneConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/attuneConfig.cmake ${PROJECT_BINARY_DIR}/attuneConfigVersion.cmake
  DESTINATION ${package})

install(DIRECTORY configs/ DESTINATION ${CMAKE_INSTALL_DATADIR}/attune/configs)
install(DIRECTORY plots/ DESTINATION ${CMAKE_INSTALL_DATADIR}/attune/plots
  FILES_MATCHING PATTERN "*.py" PATTERN "*.css" PATTERN "__pycache__" EXCLUDE)
install(FILES kernels/variants/variants.txt DESTINATION ${CMAKE_INSTALL_DATADIR}/attune)  # plots takes its colours from it
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

install(CODE "
  set(source \"${PROJECT_SOURCE_DIR}/kernels\")
  set(generated \"${PROJECT_BINARY_DIR}/kernels/generated\")
  set(destination \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_INCLUDEDIR}/attune\")
  include(\"${PROJECT_SOURCE_DIR}/tests/cmake/install_headers.cmake\")")
