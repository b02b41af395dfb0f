#!/bin/sh
# check_install.sh BUILD_DIR: installs a built tree into a temporary prefix, builds examples/find_package against it
# with plain CMake, and runs the program. Shows that the installed package is complete by itself.
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
