# Warnings as errors, sanitizers and fuzzing coverage, for every target of the project. Include before any target.
option(COLONNADE_WERROR "Treat compiler warnings as errors" OFF)
set(COLONNADE_SANITIZE "" CACHE STRING "Sanitizers, as -fsanitize= takes them: 'address,undefined' or 'thread'")

if(COLONNADE_WERROR)
  add_compile_options(-Werror)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    # GCC 12 reports these inside std::vector's own code at -O3 where nothing is wrong; they stay warnings.
    add_compile_options(-Wno-error=stringop-overflow -Wno-error=array-bounds -Wno-error=maybe-uninitialized
                        -Wno-error=restrict)
  endif()
endif()
if(COLONNADE_SANITIZE)
  add_compile_options(-fsanitize=${COLONNADE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${COLONNADE_SANITIZE})
endif()
if(COLONNADE_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES Clang)
    message(FATAL_ERROR "COLONNADE_FUZZ needs Clang (libFuzzer); configure with the preset 'fuzz'")
  endif()
  # Coverage counters in the libraries; the driver's main() is linked into the fuzz targets only.
  add_compile_options(-fsanitize=fuzzer-no-link)
  add_link_options(-fsanitize=fuzzer-no-link)
endif()
