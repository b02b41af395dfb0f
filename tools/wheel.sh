#!/bin/bash
# wheel.sh [check [SYSTEM...]]: makes the wheel of the Python that .venv has, with all libraries inside, and the source archive, in dist/.
#
# With "check" (as root, with debootstrap) the wheel is also installed on a bare system that has Python and no compiler, and
# runs the demo there: Debian 12, or those that are named: "check jammy" for Ubuntu 22.04, whose C library is older.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
most_bytes=15000000

say() { echo "wheel: $*"; }
fail() {
  echo "wheel: $*" >&2
  exit 1
}

tools=build/wheel/tools
if [ ! -x $tools/bin/auditwheel ] || [ tools/requirements-wheel.txt -nt $tools/bin/auditwheel ]; then
  say "installing tools/requirements-wheel.txt"
  .venv/bin/python -m venv $tools
  $tools/bin/python -m pip install -q --disable-pip-version-check -r tools/requirements-wheel.txt
  touch $tools/bin/auditwheel
fi

rm -rf build/wheel/plain dist
say "building; its log is build/wheel/build.log"
.venv/bin/python -m pip wheel . --no-build-isolation --no-deps --disable-pip-version-check -w build/wheel/plain \
  --config-settings=build-dir=build/python >build/wheel/build.log 2>&1 || { tail -n 50 build/wheel/build.log; exit 1; }
PATH=$PWD/$tools/bin:$PATH auditwheel repair --strip -w dist build/wheel/plain/*.whl >build/wheel/auditwheel.log 2>&1 ||
  { cat build/wheel/auditwheel.log; exit 1; }
# pip itself makes no source archives.
$tools/bin/python -m build --sdist --no-isolation --skip-dependency-check -o dist . >build/wheel/sdist.log 2>&1 ||
  { tail -n 50 build/wheel/sdist.log; exit 1; }

wheel=$(ls dist/*.whl)
bytes=$(stat -c %s "$wheel")
[ "$bytes" -lt $most_bytes ] || fail "$wheel has $bytes bytes, $most_bytes are the limit"
[[ $wheel == *manylinux* ]] || fail "$wheel is for this machine alone"
$tools/bin/auditwheel show "$wheel" >build/wheel/show.log 2>&1
say "$wheel: $bytes bytes; $(ls dist/*.tar.gz): $(stat -c %s dist/*.tar.gz) bytes"

[ "${1:-}" = check ] || exit 0
[ "$(id -u)" = 0 ] || fail "a bare system needs root; run: sudo make wheel-check"
systems=("${@:2}")
for system in "${systems[@]:-debian}"; do tools/fresh.sh "$system" --wheel "$wheel"; done
