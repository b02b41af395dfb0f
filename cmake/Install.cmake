# Installation and the package that find_package(Colonnade) finds. The library's own dependencies are private to it, so
# that a user needs no development package but this one.
include(CMakePackageConfigHelpers)

install(TARGETS colonnade EXPORT ColonnadeTargets COMPONENT library
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Colonnade)
install(EXPORT ColonnadeTargets NAMESPACE Colonnade:: DESTINATION ${package_dir} COMPONENT library)

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/ColonnadeConfig.cmake.in
                              ${PROJECT_BINARY_DIR}/ColonnadeConfig.cmake INSTALL_DESTINATION ${package_dir})
# Until 1.0 a minor version may change the interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/ColonnadeConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/ColonnadeConfig.cmake ${PROJECT_BINARY_DIR}/ColonnadeConfigVersion.cmake
        DESTINATION ${package_dir} COMPONENT library)
