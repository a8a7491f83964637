#!/usr/bin/env bash
# libplateau.so exports exactly what libplateau.map lists, needs nothing but libc and its former parts, and never calls the TLS allocator.
set -euo pipefail
library=$PLATEAU_BUILD/lib/libplateau.so
map=$PLATEAU_SOURCE/preload/libplateau.map
failed=0

listed=$(sed -e 's/#.*//' "$map" | sed -n '/global:/,/local:/p' | grep -oE '[A-Za-z_][A-Za-z0-9_]*;' | tr -d ';' | sort)
exported=$(nm -D --defined-only "$library" | awk '{print $3}' | sort)
if ! difference=$(diff <(echo "$listed") <(echo "$exported")); then
  echo "libplateau.map and the library differ (< listed, > exported):"
  echo "$difference"
  failed=1
fi

needed=$(readelf -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -vE '^(libc\.so\.6|libpthread\.so\.0|libdl\.so\.2|ld-linux-x86-64\.so\.2)$' || true)
if [ -n "$needed" ]; then
  echo "needs more than libc: $needed"
  failed=1
fi

if nm -D "$library" | grep -q __tls_get_addr; then
  echo "calls __tls_get_addr, which allocates"
  failed=1
fi

# A shared library's constructor order is its own; constant initialisation leaves nothing to run but our own start.
constructors=$(nm "$library" | grep -c '_GLOBAL__sub_I_' || true)
if [ "$constructors" != 0 ]; then
  echo "globals that need a constructor: $constructors"
  failed=1
fi
exit $failed
