# `ninja colonnade_threads_tests` builds what `ctest -L threads` runs.
add_custom_target(colonnade_threads_tests)

if(COLONNADE_TESTS)
  add_library(colonnade_fixtures OBJECT EXCLUDE_FROM_ALL tests/fixtures_folder.cpp)
  target_include_directories(colonnade_fixtures PRIVATE src)
  target_compile_definitions(colonnade_fixtures PRIVATE COLONNADE_FIXTURES="${PROJECT_SOURCE_DIR}/tests/fixtures")
endif()

# colonnade_not_sanitized(NAME): lists in the summary of sanitizer builds a test, or a folder of them, that they leave out.
function(colonnade_not_sanitized name)
  add_test(NAME ${name} COMMAND ${CMAKE_COMMAND} -E false)
  set_tests_properties(${name} PROPERTIES LABELS "unit;threads" DISABLED ON)
endfunction()

# colonnade_objects(TARGET LIBRARIES <targets> SOURCES <files>): an object library, compiled as all layers are.
function(colonnade_objects target)
  cmake_parse_arguments(arg "" "" "LIBRARIES;SOURCES" ${ARGN})
  add_library(${target} OBJECT ${arg_SOURCES})
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wno-missing-field-initializers)
  if(COLONNADE_FUZZ)
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
  if(COLONNADE_UNITY)
    colonnade_unity(${target} ${arg_SOURCES})
  endif()
  target_link_libraries(${target} PUBLIC fmt::fmt Threads::Threads ${arg_LIBRARIES})
endfunction()

# colonnade_layer(NAME DEPENDS <layers> LIBRARIES <targets> RARE <folders>): one object library from the *.cpp of the current
# folder, and one test program from its *_test.cpp. DEPENDS names the layers it may include, and no others.
# RARE folders, or `.` for all, do most of their work once per data set, graph, request or page. They are compiled at -O1, which
# takes a third less time and was measured to be as fast (decision 28). Folders have an object library of their own, colonnade_NAME_rare.
# Tests that start threads live in *_threads_test.cpp: a program of their own, so that ThreadSanitizer runs only them.
# Tests that need a server live in *_server_test.cpp; the folder's CMakeLists.txt makes programs of them.
function(colonnade_layer name)
  cmake_parse_arguments(arg "" "" "DEPENDS;LIBRARIES;RARE" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_(test|test_main)\\.cpp$")
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")

  # The closure of the layers below, so that a layer's tests link exactly what the layer may use.
  set_property(GLOBAL PROPERTY COLONNADE_CLOSURE_${name} "")
  if(NOT sources)
    return()
  endif()
  set(closure ${name})
  foreach(below ${arg_DEPENDS})
    get_property(more GLOBAL PROPERTY COLONNADE_CLOSURE_${below})
    list(APPEND closure ${more})
  endforeach()
  list(REMOVE_DUPLICATES closure)
  set_property(GLOBAL PROPERTY COLONNADE_CLOSURE_${name} ${closure})
  set_property(GLOBAL APPEND PROPERTY COLONNADE_LAYERS ${name})

  set(rare)
  if(NOT arg_RARE STREQUAL ".")
    foreach(folder ${arg_RARE})
      set(files ${sources})
      list(FILTER files INCLUDE REGEX "^${CMAKE_CURRENT_SOURCE_DIR}/${folder}/")
      list(APPEND rare ${files})
    endforeach()
    if(rare)
      list(REMOVE_ITEM sources ${rare})
    endif()
  endif()
  colonnade_objects(colonnade_${name} LIBRARIES ${arg_LIBRARIES} SOURCES ${sources})
  set(seldom colonnade_${name})
  if(rare)
    set(seldom colonnade_${name}_rare)
    colonnade_objects(${seldom} LIBRARIES ${arg_LIBRARIES} SOURCES ${rare})
    # An object library does not hand on another's objects by being linked with it.
    target_sources(colonnade_${name} INTERFACE $<TARGET_OBJECTS:${seldom}>)
  endif()
  if(arg_RARE)
    target_compile_options(${seldom} PRIVATE $<$<NOT:$<CONFIG:Debug>>:-O1>)
  endif()

  set(threads_tests ${tests})
  list(FILTER threads_tests INCLUDE REGEX "_threads_test\\.cpp$")
  list(FILTER tests EXCLUDE REGEX "_(threads|server)_test\\.cpp$")
  if(COLONNADE_TESTS AND tests)
    colonnade_test(${name} LABELS unit LAYERS ${closure} SOURCES ${tests})
  endif()
  if(COLONNADE_TESTS AND threads_tests)
    colonnade_test(${name}_threads LABELS unit threads LAYERS ${closure} SOURCES ${threads_tests})
    add_dependencies(colonnade_threads_tests colonnade_${name}_threads_test)
  endif()
endfunction()

# colonnade_test(NAME LABELS <labels> LAYERS <layers> SOURCES <files>): the GoogleTest program colonnade_NAME_test, as a
# test; as several, NAME and NAME_2 and so on, where it has many files, so that no processor waits for it at the end.
function(colonnade_test name)
  cmake_parse_arguments(arg "" "" "LABELS;LAYERS;SOURCES" ${ARGN})
  colonnade_test_program(${name} LAYERS ${arg_LAYERS} SOURCES ${arg_SOURCES})
  list(LENGTH arg_SOURCES cost)  # the longest first
  math(EXPR last "${cost} / 10")
  math(EXPR shards "${last} + 1")
  foreach(shard RANGE ${last})
    set(test ${name})
    if(shard GREATER 0)
      math(EXPR number "${shard} + 1")
      set(test ${name}_${number})
    endif()
    add_test(NAME ${test} COMMAND colonnade_${name}_test)
    set_tests_properties(${test} PROPERTIES LABELS "${arg_LABELS}" COST ${cost}
                         ENVIRONMENT "GTEST_TOTAL_SHARDS=${shards};GTEST_SHARD_INDEX=${shard}")
    if(DEFINED ENV{CI})
      # What could not run is no success there; elsewhere `make unit` names it.
      set_tests_properties(${test} PROPERTIES FAIL_REGULAR_EXPRESSION "\\[  SKIPPED \\]")
    endif()
  endforeach()
endfunction()

# colonnade_test_program(NAME LAYERS <layers> SOURCES <files>): the same, without a test that runs it.
function(colonnade_test_program name)
  cmake_parse_arguments(arg "" "" "LAYERS;SOURCES" ${ARGN})
  add_executable(colonnade_${name}_test ${arg_SOURCES})
  # Tests are compiled more often than they are run for long: line tables only, and no optimisation under sanitizers,
  # with which it takes three times as long to compile.
  set(optimisation -O1)
  if(COLONNADE_SANITIZE)
    set(optimisation -O0)
  endif()
  target_compile_options(colonnade_${name}_test PRIVATE -Wall -Wextra -Wshadow -Wno-missing-field-initializers
                                                        ${optimisation} -g1)
  if(COLONNADE_UNITY_TESTS)
    colonnade_unity(colonnade_${name}_test ${arg_SOURCES})
  endif()
  foreach(layer ${arg_LAYERS})
    target_link_libraries(colonnade_${name}_test PRIVATE colonnade_${layer})
  endforeach()
  target_link_libraries(colonnade_${name}_test PRIVATE colonnade_fixtures GTest::gtest GTest::gmock
                                                         GTest::gtest_main)
endfunction()
