#!/usr/bin/env bash
# The walk under AddressSanitizer, on interpreters whose every object is a block of malloc with guards around it:
#   tests/field/holders/asan.sh BUILD PYTHON...
# A read of a byte that is in no living object ends the program with a report. Best with a debug build of Python.
set -euo pipefail
source=$(realpath "$(dirname "$0")/../../..")
build=$(realpath "$1"); shift
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
libraries=()
while read -r library; do libraries+=("$library"); done < <(find "$build/preload" -name '*.a' ! -name '*holders*' ! -name '*cuda*')
g++ -std=c++20 -O1 -g -fPIC -shared -fsanitize=address -fno-omit-frame-pointer -fno-exceptions -fno-rtti -fno-threadsafe-statics \
  -I"$source" -o "$work/checked_walk.so" "$source/tests/field/holders/checked_walk.cc" \
  $(find "$source/preload/python/holders" -name '*.cc' ! -name schedule.cc ! -name look.cc) \
  -Wl,--start-group "${libraries[@]}" -Wl,--end-group -Wl,--gc-sections -Wl,-z,defs -ldl -lpthread
failed=0
for python in "$@"; do
  echo "== $python"
  LD_PRELOAD=$(gcc -print-file-name=libasan.so) ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 PYTHONMALLOC=malloc \
    "$python" "$source/tests/field/holders/checked_programs.py" "$work/checked_walk.so" || failed=1
done
exit $failed
