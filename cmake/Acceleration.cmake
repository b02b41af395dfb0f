# What makes builds faster where it is installed, and changes nothing where it is not: ccache, mold. Include before any
# target.

# One compiler cache for all builds and all clones: the paths of neither matter to what is compiled.
find_program(COLONNADE_CCACHE ccache)
if(COLONNADE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${COLONNADE_CCACHE})
endif()
add_compile_options(-ffile-prefix-map=${PROJECT_SOURCE_DIR}=.)

find_program(COLONNADE_MOLD mold)
if(COLONNADE_MOLD AND (CMAKE_CXX_COMPILER_ID MATCHES Clang OR CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 12.1))
  add_link_options(-fuse-ld=mold)
endif()
