# Warnings as errors, sanitizers and fuzzing coverage, for every target of the project. Include before any target.
option(COLONNADE_WERROR "Treat compiler warnings as errors" OFF)
set(COLONNADE_SANITIZE "" CACHE STRING "Sanitizers, as -fsanitize= takes them: 'address,undefined' or 'thread'")

if(COLONNADE_WERROR)
  add_compile_options(-Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # GCC (12 and 13) reports these inside of the code of std::vector and std::optional where nothing is wrong, most of all
  # at -O3.
  set(mistaken -Wno-error=stringop-overflow -Wno-error=array-bounds -Wno-error=maybe-uninitialized
               -Wno-error=restrict)
  if("${CMAKE_CXX_FLAGS_RELEASE} ${CMAKE_CXX_FLAGS_RELWITHDEBINFO}" MATCHES "^-O3.* -O3")
    list(TRANSFORM mistaken REPLACE "error=" "")
    list(APPEND mistaken -Wno-stringop-overread)
  endif()
  add_compile_options(${mistaken})
endif()
if(COLONNADE_SANITIZE)
  add_compile_options(-fsanitize=${COLONNADE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${COLONNADE_SANITIZE})
endif()
if(COLONNADE_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES Clang)
    message(FATAL_ERROR "COLONNADE_FUZZ needs Clang (libFuzzer); configure with the preset 'fuzz'")
  endif()
  # Coverage counters in the layers (cmake/Layer.cmake); the driver's main() is linked into the fuzz targets only.
  add_link_options(-fsanitize=fuzzer-no-link)
endif()
