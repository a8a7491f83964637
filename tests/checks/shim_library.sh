#!/usr/bin/env bash
# libplateau.so and libplateau_attach.so export exactly what their maps list, need nothing but libc and its former parts, never
# call the TLS allocator, and ask for little static TLS.
set -euo pipefail
failed=0
for name in libplateau libplateau_attach; do
library=$PLATEAU_BUILD/lib/$name.so
map=$PLATEAU_SOURCE/preload/$name.map

listed=$(sed -e 's/#.*//' "$map" | sed -n '/global:/,/local:/p' | grep -oE '[A-Za-z_][A-Za-z0-9_]*;' | tr -d ';' | sort)
exported=$(nm -D --defined-only "$library" | awk '{print $3}' | sort)
if ! difference=$(diff <(echo "$listed") <(echo "$exported")); then
  echo "$name.map and the library differ (< listed, > exported):"
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

# A library that is opened while the program runs gets its part of what the C library has set aside, which older versions and
# other libraries (jemalloc) leave little of.
tls_bytes=$(($(readelf -lW "$library" | awk '$1 == "TLS" { print $6 }')))
if [ "$tls_bytes" -le 0 ] || [ "$tls_bytes" -ge 256 ]; then
  echo "$name.so needs $tls_bytes bytes of static TLS; keep it below 256"
  failed=1
fi
done
exit $failed
