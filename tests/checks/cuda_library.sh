#!/usr/bin/env bash
# libplateau_cuda.so exports the calls of the table, dlsym and its own report, nothing else; needs libc alone; has no
# version nodes, so that its names stand in front of any libcudart's; and wraps neither dlopen nor malloc.
set -eu
library=$PLATEAU_BUILD/lib/libplateau_cuda.so
table=$PLATEAU_SOURCE/preload/cuda/cuda_calls.inc
expected=$({ sed -nE 's/^PLATEAU_CUDA_(RUNTIME|DRIVER)\((\w+),.*/\2/p' "$table"; echo dlsym; echo plateau_cuda_list_handed_out; } | sort)
exported=$(nm -D --defined-only "$library" | awk '{print $3}' | sort)
diff <(echo "$expected") <(echo "$exported") || { echo "exports differ from the table"; exit 1; }
needed=$(readelf -dW "$library" | sed -nE 's/.*NEEDED.*\[(.*)\]/\1/p')
[ "$needed" = libc.so.6 ] || { echo "needs: $needed"; exit 1; }
! readelf -dW "$library" | grep -q VERDEF || { echo "has version nodes"; exit 1; }
undefined=$(nm -D --undefined-only "$library" | awk '{print $2}' | sed 's/@.*//')
for name in malloc free dlopen dlvsym; do
  ! grep -qx $name <<< "$undefined" || { echo "uses $name"; exit 1; }
done
echo "$(wc -l <<< "$expected") exports, as in the table"
