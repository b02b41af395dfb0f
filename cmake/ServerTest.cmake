# colonnade_server_test(NAME SERVERS <servers> COMMAND <target> [arguments] [LABELS <labels>] [TIMEOUT <seconds>]): a
# test that runs with servers (http, https, s3, s3-tls, toxiproxy, ceph), which are started for it on loopback; tests/servers/README.md
# says how the program finds them. Sanitizer builds run it, too, if a label that they run is among LABELS.
function(colonnade_server_test name)
  cmake_parse_arguments(arg "" "TIMEOUT" "SERVERS;COMMAND;LABELS" ${ARGN})
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  list(POP_FRONT arg_COMMAND program)
  if(TARGET ${program})
    set(program $<TARGET_FILE:${program}>)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 900)  # a busy machine may take ten times as long
  endif()
  add_test(NAME ${name} COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tests/servers/run_with.py
                                ${arg_SERVERS} -- ${program} ${arg_COMMAND})
  set_tests_properties(${name} PROPERTIES LABELS "server;${arg_LABELS}" TIMEOUT ${arg_TIMEOUT} COST 30)
endfunction()
