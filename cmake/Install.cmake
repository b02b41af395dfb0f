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

# For builds without CMake: pkg-config --cflags --libs colonnade, or colonnade-c for the C interface alone. Its paths are relative to the folder that it lies in.
set(pc_prefix "\${pcfiledir}")
string(REPLACE "/" ";" pc_folders ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
foreach(folder ${pc_folders})
  string(APPEND pc_prefix "/..")
endforeach()
foreach(language colonnade colonnade-c)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/${language}.pc.in ${PROJECT_BINARY_DIR}/${language}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${language}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT library)
endforeach()

# The installed library is stripped. Its debug symbols are a component of their own: cmake --install BUILD --component
# debug puts them beside it, where gdb finds them.
if(CMAKE_OBJCOPY AND CMAKE_STRIP AND CMAKE_SYSTEM_NAME STREQUAL "Linux")
  foreach(component library debug)
    install(CODE "
      set(objcopy ${CMAKE_OBJCOPY})
      set(strip ${CMAKE_STRIP})
      set(built $<TARGET_FILE:colonnade>)
      set(installed \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/$<TARGET_FILE_NAME:colonnade>)
      set(component ${component})
      include(${PROJECT_SOURCE_DIR}/cmake/SplitDebug.cmake)" COMPONENT ${component})
  endforeach()
endif()

include(${CMAKE_CURRENT_LIST_DIR}/Packages.cmake)
