#!/usr/bin/env bash
# The wheel on other systems: makes a root of each by debootstrap, installs the wheel there with that system's own pip, and runs
# tests/field/systems/check.py in it. Prints the table of docs/portability.md.
#
#   tests/field/systems.sh [--wheel dist/NAME.whl] [--roots DIR] [--no-torch] [SYSTEM...]
#
# Systems: bullseye bookworm trixie sid (Debian 11, 12, 13, unstable), focal jammy noble (Ubuntu 20.04, 22.04, 24.04); by default all.
# One that the mirror does not serve is named and left out. Needs root, debootstrap and the network; a root has about 1 GB, several
# more where torch has to come from pip. Roots are kept in DIR (default /tmp/plateau-systems) and used again.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
roots=/tmp/plateau-systems
wheel=
torch=yes
systems=()
while [ $# -gt 0 ]; do
  case "$1" in
    --wheel) wheel=$2; shift ;;
    --roots) roots=$2; shift ;;
    --no-torch) torch=no ;;
    -*) echo "usage: $0 [--wheel FILE] [--roots DIR] [--no-torch] [SYSTEM...]" >&2; exit 2 ;;
    *) systems+=("$1") ;;
  esac
  shift
done
[ ${#systems[@]} -gt 0 ] || systems=(bullseye bookworm trixie sid focal jammy noble)
if [ -z "$wheel" ]; then
  wheel=$(ls "$source"/dist/plateau_trace-*.whl 2> /dev/null | tail -n 1)
  [ -n "$wheel" ] || { echo "$0: no wheel in dist; tools/wheel makes one" >&2; exit 3; }
fi
[ "$(id -u)" = 0 ] || { echo "$0: debootstrap and chroot need root" >&2; exit 3; }
command -v debootstrap > /dev/null || { echo "$0: needs the package debootstrap" >&2; exit 3; }

mounted=()
leave() { for place in "${mounted[@]}"; do umount -l "$place" 2> /dev/null || true; done; }
trap leave EXIT

inside() {
  local root=$1
  shift
  # The variables are those by which people point pip and apt at a mirror of their own.
  chroot "$root" env -i HOME=/root LC_ALL=C.UTF-8 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    DEBIAN_FRONTEND=noninteractive PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore \
    ${PIP_INDEX_URL:+PIP_INDEX_URL="$PIP_INDEX_URL"} ${PIP_CERT:+PIP_CERT=/etc/ssl/certs/ca-certificates.crt} "$@"
}

make_root() {  # SYSTEM ROOT
  [ -e "$2/etc/made-by-plateau" ] && return 0
  rm -rf "$2"
  local where=()
  case "$1" in
    focal | jammy) where=(http://archive.ubuntu.com/ubuntu) ;;
    # A debootstrap that is older than this release makes it as it makes the one before.
    noble) where=(http://archive.ubuntu.com/ubuntu /usr/share/debootstrap/scripts/jammy) ;;
  esac
  debootstrap --variant=minbase --include=ca-certificates "$1" "$2" "${where[@]}" > "$2.log" 2>&1 || return 1
  # Ubuntu has pip in another part of its archive than Python.
  case "$1" in focal | jammy | noble) sed -i 's/ main$/ main universe/' "$2/etc/apt/sources.list" ;; esac
  # A registry behind a certificate of one's own is trusted there as it is here.
  cp /etc/ssl/certs/ca-certificates.crt "$2/etc/ssl/certs/ca-certificates.crt"
  cp /etc/resolv.conf "$2/etc/resolv.conf" 2> /dev/null || true
  # A mirror may lag behind the date until which its lists are valid.
  echo 'Acquire::Check-Valid-Until "false";' > "$2/etc/apt/apt.conf.d/plateau"
  inside "$2" apt-get update -q >> "$2.log" 2>&1
  inside "$2" apt-get install -q -y --no-install-recommends python3 python3-pip >> "$2.log" 2>&1 || return 1
  touch "$2/etc/made-by-plateau"
}

mkdir -p "$roots"
status=0
rows=()
for system in "${systems[@]}"; do
  root=$roots/$system
  echo "== $system"
  if ! make_root "$system" "$root"; then
    echo "   no root: $(tail -n 1 "$root.log")"
    rows+=("| $system | the mirror does not serve it |")
    continue
  fi
  for place in proc dev sys; do
    mountpoint -q "$root/$place" || { mount --bind "/$place" "$root/$place"; mounted+=("$root/$place"); }
  done
  rm -rf "$root/plateau"
  mkdir -p "$root/plateau"
  cp "$wheel" "$root/plateau/"
  cp "$here"/systems/* "$root/plateau/"
  cp -r "$source/examples" "$root/plateau/examples"
  if inside "$root" python3 /plateau/check.py "--torch=$torch" 2>&1 | tee "$root/plateau/log" | sed 's/^/   /'; then :; else status=1; fi
  [ "${PIPESTATUS[0]}" = 0 ] || status=1
  rows+=("$(cat "$root/plateau/row.md" 2> /dev/null || echo "| $system | the check did not come to its end |")")
  grep -q FAILED "$root/plateau/log" && status=1
done
echo
echo "| system | Python | install to verdict | C++ | Python | threads in a library that is opened | killed | torch |"
echo "|---|---|---|---|---|---|---|---|"
printf '%s\n' "${rows[@]}"
exit $status
