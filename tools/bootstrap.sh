#!/bin/sh
# Installs what is missing to build (`bootstrap.sh build`), to run the Python package (`run`), to test (`test`), to test and
# to measure (`bench`), or to build for aarch64 and test that (`cross`): system packages through apt, Python packages into .venv. Does nothing, and asks for no
# privileges, where everything is there already.
set -eu
cd "$(dirname "$0")/.."

level=${1:-run}
build_packages="build-essential cmake ninja-build pkg-config ccache mold python3 python3-dev python3-venv
  libzstd-dev liblz4-dev libdeflate-dev liblzma-dev libxxhash-dev libfmt-dev libhwy-dev liburing-dev libboost-dev nlohmann-json3-dev
  libcurl4-openssl-dev libssl-dev"
test_packages="xfsprogs libgtest-dev libgmock-dev libbenchmark-dev libmpfr-dev graphviz doxygen rustc bindgen
  clang-19 llvm-19 libclang-rt-19-dev clang-format-19 clang-tidy-19
  openssl ca-certificates curl nginx-light ceph-mon ceph-osd ceph-common librados2 librados-dev
  xrootd-server xrootd-scitokens-plugins libxrdcl3 default-jre-headless"
bench_packages="fio xrootd-client"
cross_packages="cmake ninja-build pkg-config make git python3 graphviz crossbuild-essential-arm64 qemu-user-static libboost-dev nlohmann-json3-dev
  libzstd-dev:arm64 liblz4-dev:arm64 libdeflate-dev:arm64 liblzma-dev:arm64 libxxhash-dev:arm64 libfmt-dev:arm64 libhwy-dev:arm64
  liburing-dev:arm64 libcurl4-openssl-dev:arm64 libssl-dev:arm64 libgtest-dev:arm64 libgmock-dev:arm64 libmpfr-dev:arm64"
# The servers of tests/servers that are in no package: each a Go module, its version, and the name of its program.
go_servers="github.com/versity/versitygw/cmd/versitygw v1.8.0 versitygw
github.com/Shopify/toxiproxy/v2/cmd/server v2.5.0 toxiproxy-server"

case $level in
  build | run) packages=$build_packages ;;
  test) packages="$build_packages $test_packages" ;;
  bench) packages="$build_packages $test_packages $bench_packages" ;;
  cross) packages=$cross_packages ;;
  *)
    echo "usage: tools/bootstrap.sh [build|run|test|bench|cross]" >&2
    exit 2
    ;;
esac

say() { echo "bootstrap: $*"; }
fail() {
  echo "bootstrap: $*" >&2
  exit 1
}

# step WHAT COMMAND...: one line that says what is done and how long it took; the command's output only where it fails.
step() {
  what=$1
  shift
  started=$(date +%s)
  log=$(mktemp)
  printf 'bootstrap: %s ...' "$what"
  if ! "$@" >"$log" 2>&1; then
    printf ' failed after %s s\n' "$(($(date +%s) - started))"
    tail -n 100 "$log" >&2
    rm -f "$log"
    exit 1
  fi
  rm -f "$log"
  printf ' %s s\n' "$(($(date +%s) - started))"
}

is_installed() {
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

install_system_packages() {
  if ! command -v dpkg-query >/dev/null 2>&1; then
    say "this is not a Debian system; the equivalents of these packages are needed:" $packages
    return
  fi
  missing=
  for package in $packages; do
    is_installed "$package" || missing="$missing $package"
  done
  [ -n "$missing" ] || return 0

  if [ "$(id -u)" = 0 ]; then
    apt="env DEBIAN_FRONTEND=noninteractive apt-get -q"
  elif command -v sudo >/dev/null 2>&1; then
    apt="sudo env DEBIAN_FRONTEND=noninteractive apt-get -q"
  else
    fail "cannot install$missing (neither root nor sudo); ask an administrator for: apt-get install$missing"
  fi
  say "these system packages are missing:$missing"
  [ "$level" != cross ] || ${apt%%env *} dpkg --add-architecture arm64
  step "looking up system packages" $apt update
  step "downloading system packages" $apt install -y --no-install-recommends --download-only $missing
  step "installing system packages" $apt install -y --no-install-recommends $missing
}

# The first Python of at least 3.11 that can make virtual environments and compile against its own headers.
find_python() {
  for candidate in ${PYTHON:-python3 /usr/bin/python3}; do
    if "$candidate" - >/dev/null 2>&1 <<'CHECK'; then
import ensurepip, os, sys, sysconfig, venv
assert sys.version_info >= (3, 11)
assert os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h"))
CHECK
      echo "$candidate"
      return
    fi
  done
  fail "no Python >= 3.11 with venv, pip and headers (tried ${PYTHON:-python3 /usr/bin/python3}); set PYTHON=..."
}

make_environment() {
  if [ -x .venv/bin/python ] && .venv/bin/python -m pip --version >/dev/null 2>&1; then return 0; fi
  python=$(find_python)
  step "making .venv with $python" "$python" -m venv --clear .venv
}

# install_requirements NAME [pip options]: tools/requirements-NAME.txt, unless its last installed state is the same.
install_requirements() {
  name=$1
  shift
  file=tools/requirements-$name.txt
  stamp=.venv/.installed-$name
  state=$(cat tools/requirements-build.txt tools/requirements-run.txt "$file")
  if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$state" ]; then return 0; fi
  # What is imported is compiled then: pip would compile all modules, which takes most of its time.
  step "installing Python packages of $file" \
    .venv/bin/python -m pip install --disable-pip-version-check --no-compile "$@" -r "$file"
  printf '%s\n' "$state" >"$stamp"
}

# The servers that have to be compiled, into .venv/bin; with a Go of their own, since the system's may be too old.
install_go_servers() {
  mkdir -p .venv/go/bin
  echo "$go_servers" | while read -r module version program; do
    # Without cgo: no C compiler, no libraries. All that is downloaded and compiled on the way stays in one folder.
    step "compiling $program $version" env CGO_ENABLED=0 GOTOOLCHAIN=local GOFLAGS=-modcacherw GOPATH="$PWD/.venv/go" \
      GOCACHE="$PWD/.venv/go/cache" GOBIN="$PWD/.venv/go/bin" .venv/bin/go install "$module@$version"
    mv ".venv/go/bin/$(basename "$module")" ".venv/bin/$program"
  done
  rm -rf .venv/go
  printf '%s\n' "$go_servers" >.venv/.installed-servers
}

has_go_servers() {
  [ -f .venv/.installed-servers ] && [ "$(cat .venv/.installed-servers)" = "$go_servers" ] || return 1
  echo "$go_servers" | while read -r _ _ program; do [ -x ".venv/bin/$program" ] || exit 1; done
}

# Compiling the servers takes minutes, of which some are waiting for downloads: meanwhile the Python packages are installed.
install_for_tests() {
  if ! has_go_servers; then
    install_requirements go
    install_go_servers >.venv/servers.log 2>&1 &
    servers=$!
  fi
  install_requirements run
  install_requirements test
  install_requirements root --pre
  if [ -n "${servers:-}" ]; then
    say "waiting for the servers that are compiled"
    compiled=yes
    wait "$servers" || compiled=
    cat .venv/servers.log
    [ "$compiled" ] || fail "the test servers could not be compiled"
  fi
}

install_system_packages
[ "$level" != cross ] || exit 0
make_environment
case $level in
  build | run) install_requirements "$level" ;;
  *) install_for_tests ;;
esac
