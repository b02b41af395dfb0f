# Several files compiled as one, which takes a third of the time where each file is short and its headers are long.
# Which ones is worked out by unity_groups.py: they must not declare the same name for themselves.
option(COLONNADE_UNITY "Compile the layers several files as one" ON)
option(COLONNADE_UNITY_TESTS "Compile tests several files as one" ON)
find_package(Python3 COMPONENTS Interpreter)

# colonnade_unity(TARGET SOURCE...): SOURCE... are files of the current folder.
function(colonnade_unity target)
  if(NOT Python3_Interpreter_FOUND)
    return()
  endif()
  list(TRANSFORM ARGN PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ REGEX "^[^/]")
  execute_process(COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/cmake/unity_groups.py --target ${target}
                          --root ${PROJECT_SOURCE_DIR} --cache ${PROJECT_BINARY_DIR}/unity_groups.json ${ARGN}
                  OUTPUT_VARIABLE groups OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE ";" "|" groups "${groups}")
  string(REPLACE "\n" ";" groups "${groups}")
  foreach(group ${groups})
    string(REPLACE "|" ";" files ${group})
    list(POP_FRONT files number)
    set_source_files_properties(${files} PROPERTIES UNITY_GROUP ${target}_${number})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # A name that is local to one file may be a variable's in the next; and a class of one file is taken for a header's.
  target_compile_options(${target} PRIVATE -Wno-shadow $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  # An edit may bring a name that another file has: then the groups change.
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${ARGN})
endfunction()
