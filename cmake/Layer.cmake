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

# colonnade_layer(NAME DEPENDS <layers> LIBRARIES <targets>): one object library from the *.cpp of the current
# folder, and one test program from its *_test.cpp. DEPENDS names the layers it may include, and no others.
# Tests that start threads live in *_threads_test.cpp: a program of their own, so that ThreadSanitizer runs only them.
# Tests that need a server live in *_server_test.cpp; the folder's CMakeLists.txt makes programs of them.
function(colonnade_layer name)
  cmake_parse_arguments(arg "" "" "DEPENDS;LIBRARIES" ${ARGN})
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

  add_library(colonnade_${name} OBJECT ${sources})
  target_include_directories(colonnade_${name} PUBLIC ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  target_compile_options(colonnade_${name} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wno-missing-field-initializers)
  if(COLONNADE_FUZZ)
    target_compile_options(colonnade_${name} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
  if(COLONNADE_UNITY)
    colonnade_unity(colonnade_${name} ${sources})
  endif()
  target_link_libraries(colonnade_${name} PUBLIC fmt::fmt Threads::Threads ${arg_LIBRARIES})

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
