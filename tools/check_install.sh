#!/bin/sh
# check_install.sh BUILD_DIR: installs a built tree into a temporary prefix, builds examples/find_package against it
# with plain CMake and with pkg-config, and a program in C, and runs them. Shows that the installed package is complete
# by itself, and that the library is stripped: below 15 MB, with its debug symbols apart.
set -eu
build=$(realpath "$1")
cd "$(dirname "$0")/.."
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

cmake --install "$build" --prefix "$place/prefix" --component library >/dev/null
cp -r examples/find_package "$place/project"
cmake -S "$place/project" -B "$place/build" -G Ninja -DCMAKE_PREFIX_PATH="$place/prefix" >/dev/null
cmake --build "$place/build"
(cd "$place" && ./build/uses_colonnade)
echo "find_package(Colonnade): passed"

PKG_CONFIG_PATH=$(dirname "$(find "$place/prefix" -name colonnade.pc)")
export PKG_CONFIG_PATH
# shellcheck disable=SC2046 # the flags are words
${CXX:-c++} "$place"/project/*.cpp $(pkg-config --cflags --libs colonnade) -o "$place/by_pkg_config"
(cd "$place" && LD_LIBRARY_PATH=$(pkg-config --variable=libdir colonnade) ./by_pkg_config)
echo "pkg-config colonnade: passed"

# shellcheck disable=SC2046 # the flags are words
${CC:-cc} -std=c11 -Wall -Wextra -Wpedantic -Werror examples/c_interface.c $(pkg-config --cflags --libs colonnade-c) -o "$place/in_c"
(cd "$place" && LD_LIBRARY_PATH=$(pkg-config --variable=libdir colonnade) ./in_c)
echo "colonnade.h in C: passed"

library=$(realpath "$(pkg-config --variable=libdir colonnade)/libcolonnade.so")
bytes=$(stat -c %s "$library")
[ "$bytes" -lt 15000000 ] || { echo "$library has $bytes bytes, 15 MB at most are wanted"; exit 1; }
cmake --install "$build" --prefix "$place/prefix" --component debug >/dev/null
readelf -S "$library.debug" | grep -q debug_info || { echo "there are no debug symbols in $library.debug"; exit 1; }
readelf -p .gnu_debuglink "$library" | grep -q "$(basename "$library").debug"
echo "the library has $bytes bytes; its debug symbols are apart: passed"
