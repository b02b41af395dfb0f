# At installation, for the component "library": strips the installed library and notes where its debug symbols are; for
# "debug": puts these beside it. Uses objcopy, strip, built (the library in the build), installed (its place), component.
set(symbols ${installed}.debug)
if(component STREQUAL "debug")
  message(STATUS "Installing: ${symbols}")
  get_filename_component(folder ${symbols} DIRECTORY)
  file(MAKE_DIRECTORY ${folder})
  execute_process(COMMAND ${objcopy} --only-keep-debug ${built} ${symbols} COMMAND_ERROR_IS_FATAL ANY)
else()
  # The link holds a checksum of the file with the symbols, which need not be installed.
  get_filename_component(name ${symbols} NAME)
  get_filename_component(folder ${built} DIRECTORY)
  execute_process(COMMAND ${objcopy} --only-keep-debug ${built} ${folder}/${name} COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${strip} --strip-unneeded ${installed} COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${objcopy} --add-gnu-debuglink=${folder}/${name} ${installed} COMMAND_ERROR_IS_FATAL ANY)
  file(REMOVE ${folder}/${name})
endif()
