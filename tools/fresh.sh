#!/bin/bash
# fresh.sh [SYSTEM] [TARGET...]: the commit that is checked out, on a machine that has nothing yet: a bare system in a folder,
# with git, g++, make and python3, in which `make TARGET` runs one after the other (demo and test, unless others are named).
# Only what these install is there. Needs root, and debootstrap. Systems: debian (12), trixie (Debian 13), ubuntu (24.04),
# resolute (Ubuntu 26.04).
#
# fresh.sh debian|jammy --wheel FILE: a wheel on a bare Debian 12, or Ubuntu 22.04 with its older C library, that has the
# Python of the wheel and no compiler; the demo runs there.
#
# FRESH_KEEP=yes keeps the folder; FRESH_FOLDER says where it is made. FRESH_CCACHE=yes shares the compiler cache of this
# machine: what is installed is tried as before, but times say nothing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

system=${1:-debian}
targets=("${@:2}")
[ ${#targets[@]} -gt 0 ] || targets=(demo test)
packages=git,g++,make,python3
wheel=
if [ "${targets[0]}" = --wheel ]; then
  wheel=$(realpath "${targets[1]}")
  targets=()
  packages=ca-certificates
  [[ $wheel =~ -cp3([0-9]+)- ]] && python=python3.${BASH_REMATCH[1]}
fi

say() { echo "fresh: $*"; }
fail() {
  echo "fresh: $*" >&2
  exit 1
}

case $system in
  debian) suite=bookworm components=main updates="bookworm-updates bookworm-security" script= ;;
  ubuntu) suite=noble components="main universe" updates="noble-updates noble-security" script=gutsy ;;
  trixie) suite=trixie components=main updates="trixie-updates trixie-security" script= ;;
  jammy | resolute) suite=$system components="main universe" updates="$system-updates $system-security" script=gutsy ;;
  *) fail "'$system' is not 'debian', 'trixie', 'ubuntu', 'resolute' or 'jammy'" ;;
esac
[ "$(id -u)" = 0 ] || fail "building a root of $system needs root; run: sudo make fresh"
for program in debootstrap unshare chroot; do
  command -v $program >/dev/null || fail "$program is missing; run: apt-get install debootstrap util-linux"
done

# What the host is told about archives of its suites serves the root, too. On another system the two are given.
site_of() {
  apt-get indextargets --format '$(RELEASE) $(SITE)' 2>/dev/null | awk -v release="$1" '$1 == release {print $2; exit}'
}
site=${FRESH_ARCHIVE:-$(site_of $suite)}
security=${FRESH_SECURITY_ARCHIVE:-$(site_of $suite-security)}
[ "$site" ] && [ "$security" ] ||
  fail "apt knows no archive of $system $suite here; set FRESH_ARCHIVE and FRESH_SECURITY_ARCHIVE to the URLs of its archives"

cache=
if [ "${FRESH_CCACHE:-}" ]; then cache=$(ccache --get-config cache_dir); fi

commit=$(git rev-parse HEAD)
[ -z "$(git status --porcelain)" ] || say "what is not committed is left out"
folder=$(mktemp -d "${FRESH_FOLDER:-/var/tmp}/colonnade-fresh-$system.XXXXXX")
root=$folder/root
cleanup() {
  # debootstrap leaves them where it is interrupted.
  umount -q "$root/proc" "$root/sys" 2>/dev/null || true
  if [ "${FRESH_KEEP:-}" ]; then say "kept: $folder"; else rm -rf --one-file-system "$folder"; fi
}
trap cleanup EXIT
trap 'exit 1' HUP INT TERM

times=
# Seconds that processors have spent on what this script has run.
busy() { awk '{print int(($16 + $17) / 100)}' /proc/$$/stat; }
# timed WHAT COMMAND...: the command, and its time for the summary.
timed() {
  local what=$1 before=$SECONDS busy_before
  busy_before=$(busy)
  shift
  "$@" || fail "$what failed after $((SECONDS - before)) s on a bare $system, commit $commit"
  times+=$(printf '\n  %-24s %5d s, of processors %5d s' "$what" $((SECONDS - before)) $(($(busy) - busy_before)))
}

make_root() {
  # Ubuntu's archive key is seldom installed elsewhere; without it, only what was signed is not checked.
  local vendor=ubuntu
  case $system in debian | trixie) vendor=debian ;; esac
  local keyring=/usr/share/keyrings/${vendor}-archive-keyring.gpg options=()
  if [ -f "$keyring" ]; then options+=(--keyring="$keyring"); else options+=(--no-check-gpg); fi
  debootstrap --variant=minbase --components="${components// /,}" --include=$packages "${options[@]}" \
    $suite "$root" "$site" $script >"$folder/debootstrap.log" 2>&1 || { tail -n 50 "$folder/debootstrap.log" >&2; return 1; }
}

# How this host reaches archives: its names, certificates, and settings of apt, pip and Go. Nothing else comes along.
copy_settings() {
  : >"$root/etc/apt/sources.list"
  local from
  echo "deb $site $suite $components" >>"$root/etc/apt/sources.list"
  for update in $updates; do
    from=$site
    [[ $update == *-security ]] && from=$security
    echo "deb $from $update $components" >>"$root/etc/apt/sources.list"
  done
  if [ -d /etc/apt/apt.conf.d ]; then grep -lsE '^ *Acquire' -r /etc/apt/apt.conf.d /etc/apt/apt.conf || true; fi |
    while read -r file; do cp "$file" "$root/etc/apt/apt.conf.d/"; done
  [ ! -d /etc/apt/auth.conf.d ] || cp -r /etc/apt/auth.conf.d "$root/etc/apt/"
  for file in /etc/resolv.conf /etc/hosts /etc/pip.conf; do
    [ ! -e $file ] || cp -L $file "$root/etc/"
  done
  for file in .config/pip .config/go .pip; do
    [ ! -e "$HOME/$file" ] || { mkdir -p "$root/root/$(dirname $file)" && cp -rL "$HOME/$file" "$root/root/$file"; }
  done
  # What goes away needs not survive a loss of power.
  echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/unsafe-io"
  # Certificates that only this host trusts; installing the package ca-certificates takes them up.
  if [ -f /etc/ssl/certs/ca-certificates.crt ]; then
    mkdir -p "$root/usr/local/share/ca-certificates"
    cp -L /etc/ssl/certs/ca-certificates.crt "$root/usr/local/share/ca-certificates/host.crt"
  fi
}

clone() {
  mkdir "$root/root/colonnade"
  if [ "$wheel" ]; then
    cp "$wheel" "$root/root/colonnade/"
    return
  fi
  git clone -q --no-local --no-checkout . "$root/root/colonnade"
  git -C "$root/root/colonnade" checkout -q "$commit"
}

# inside COMMAND: with processes and mounts of its own, which end with it.
inside() {
  local environment=(HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8)
  local name
  while read -r name; do environment+=("$name=${!name}"); done < <(
    compgen -e | grep -E '^((http|https|ftp|all|no)_proxy|PIP_(CERT|INDEX_URL|EXTRA_INDEX_URL|TRUSTED_HOST|DEFAULT_TIMEOUT)|GO(PROXY|SUMDB|NOSUMDB|NOSUMCHECK|FLAGS)|SSL_CERT_FILE|SSL_CERT_DIR|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|GIT_SSL_CAINFO|JOBS)$' -i
  )
  # shellcheck disable=SC2016
  unshare --mount --pid --ipc --fork --kill-child bash -c '
    root=$1 cache=$2
    shift 2
    mount --bind "$root" "$root"  # tests make mount namespaces, which need a root that is a mount
    mount -t proc proc "$root/proc"
    mount --rbind /dev "$root/dev"
    mount -t tmpfs tmpfs "$root/dev/shm"
    mount --rbind -o ro /sys "$root/sys"
    if [ "$cache" ]; then mkdir -p "$root/root/.cache/ccache" && mount --bind "$cache" "$root/root/.cache/ccache"; fi
    exec chroot "$root" env -i "$@"' inside "$root" "$cache" "${environment[@]}" bash -c "cd /root/colonnade && $1"
}

say "$commit on a bare $system ($suite) in $root, $(nproc) cores"
timed "a root of $system" make_root
copy_settings
clone
if [ "$wheel" ]; then
  timed "installing $python" inside "apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends $python $python-venv >/dev/null"
  timed "installing the wheel" inside "! command -v c++ && update-ca-certificates >/dev/null && export PIP_CERT=/etc/ssl/certs/ca-certificates.crt && $python -m venv venv && venv/bin/pip install -q '$(basename "$wheel")[demo]'"
  timed "the demo" inside "venv/bin/python -m colonnade demo"
fi
for target in "${targets[@]}"; do
  say "make $target"
  timed "make $target" inside "make $target"
done
echo "fresh: passed on $system ($suite), commit $commit:$times"
