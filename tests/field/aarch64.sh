#!/usr/bin/env bash
# AArch64 on an x86-64 machine: makes a Debian arm64 tree, builds the preset `aarch64` with Debian's cross compiler, and runs under
# qemu-user what depends on the processor.
#
#   tests/field/aarch64.sh [--root DIR] [--page-bytes 4096|16384|65536] [--captures N] [--no-build] [--torch] [--wheel FILE] [CHECK...]
#
# Checks: unit capture programs python torch; by default all but torch, which takes long under emulation. With --wheel the check is
# `wheel`: the tree's own pip installs that file, and everything tests/field/systems/check.py has runs in the tree, torch included with
# --torch; only programs in C++ are compiled outside. Needs
# gcc-aarch64-linux-gnu, g++-aarch64-linux-gnu, qemu-user-static, debootstrap and the network; 1.5 GB in DIR (default
# /tmp/plateau-arm64). Nothing is registered on the machine: the emulator is known to this command's own namespace only.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
root=/tmp/plateau-arm64
page_bytes=
captures=120000
build=yes
torch=no
wheel=
checks=()
while [ $# -gt 0 ]; do
  case "$1" in
    --root) root=$2; shift ;;
    --page-bytes) page_bytes=$2; shift ;;
    --captures) captures=$2; shift ;;
    --no-build) build=no ;;
    --torch) torch=yes ;;
    --wheel) wheel=$2; build=no; shift ;;
    -*) echo "usage: $0 [--root DIR] [--page-bytes N] [--captures N] [--no-build] [--torch] [--wheel FILE] [CHECK...]" >&2; exit 2 ;;
    *) checks+=("$1") ;;
  esac
  shift
done
if [ -n "$wheel" ]; then
  checks=(wheel)
else
  [ ${#checks[@]} -gt 0 ] || checks=(unit capture programs python)
  [ "$torch" = no ] || checks+=(torch)
fi
for tool in aarch64-linux-gnu-g++ qemu-aarch64-static debootstrap; do
  command -v "$tool" > /dev/null || { echo "$0: $tool is missing" >&2; exit 3; }
done

packages=ca-certificates,python3,python3-distutils,libc6-dev,linux-libc-dev,libgtest-dev,libgmock-dev,libunwind-dev,libstdc++-12-dev
packages=$packages,libgcc-12-dev,libabsl-dev,libdw-dev,libelf-dev,zlib1g-dev,libbz2-dev,liblzma-dev,libzstd-dev,nlohmann-json3-dev
packages=$packages,libprotobuf-dev,libsqlite3-dev,python3-torch,python3-numpy,python3-pip

# The packages are unpacked, not configured: that would take emulation and is not needed to link and run.
make_root() {
  [ -e "$root/etc/made-by-plateau" ] && return 0
  rm -rf "$root"
  debootstrap --arch=arm64 --foreign --variant=minbase --include="$packages" bookworm "$root" > "$root.log" 2>&1
  for package in "$root"/var/cache/apt/archives/*.deb; do dpkg-deb -x "$package" "$root"; done
  for folder in bin sbin lib; do
    [ -L "$root/$folder" ] && continue
    cp -a "$root/$folder/." "$root/usr/$folder/"
    rm -rf "${root:?}/$folder"
    ln -s "usr/$folder" "$root/$folder"
  done
  # What configuring would have linked.
  for library in blas lapack; do
    ln -sf "$library/lib$library.so.3" "$root/usr/lib/aarch64-linux-gnu/lib$library.so.3"
  done
  # Links to absolute paths would lead the cross linker out of the tree.
  find "$root/usr/lib/aarch64-linux-gnu" -maxdepth 1 -type l -lname '/*' | while read -r link; do
    ln -sf "$root$(readlink "$link")" "$link"
  done
  touch "$root/etc/made-by-plateau"
}

make_root
export PLATEAU_SYSROOT=$root
if [ "$build" = yes ]; then
  cd "$source"
  cmake --preset aarch64 > /dev/null
  cmake --build --preset aarch64
fi
[ -n "$wheel" ] || [ -x "$source/build/release/bin/plateau" ] || [ -n "${PLATEAU_ANALYZER:-}" ] || {
  echo "$0: tools/build release first, or name an analyzer of this machine in PLATEAU_ANALYZER" >&2
  exit 3
}
export PLATEAU_ANALYZER=${PLATEAU_ANALYZER:-$source/build/release/bin/plateau}
export PLATEAU_UNWIND_CAPTURES=$captures PLATEAU_BUILD=$source/build/aarch64 PLATEAU_SOURCE=$source
export QEMU_LD_PREFIX=$root PLATEAU_WHEEL=$wheel PLATEAU_TORCH=$torch
# Emulated SVE does not know the rest of a large page behind a library, where the loader keeps its data.
[ -z "$page_bytes" ] || export QEMU_PAGESIZE=$page_bytes QEMU_CPU=cortex-a57
exec unshare -Urm --propagation private python3 "$here/aarch64/check.py" "${checks[@]}"
