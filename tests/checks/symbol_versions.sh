#!/usr/bin/env bash
# The shims load on every glibc since 2.17: they need no newer version of any symbol.
set -euo pipefail
newest_allowed=2.17
failed=0
for library in "$PLATEAU_BUILD"/lib/libplateau.so "$PLATEAU_BUILD"/lib/libplateau_attach.so "$PLATEAU_BUILD"/lib/libplateau_cuda.so; do
  [ -f "$library" ] || continue
  needed=$(objdump -T "$library" | grep '\*UND\*' | grep -oE 'GLIBC_[0-9.]+\)? +[A-Za-z_0-9]+' | tr -d ')')
  [ -n "$needed" ] || { echo "$library: no versioned symbol found; has objdump's output changed?"; exit 1; }
  while read -r symbol_version name; do
    number=${symbol_version#GLIBC_}
    if [ "$(printf '%s\n' "$number" "$newest_allowed" | sort -V | tail -n 1)" != "$newest_allowed" ]; then
      echo "$(basename "$library"): $name needs glibc $number; bind it in preload/base/old_glibc.h or find it at run time"
      failed=1
    fi
  done <<< "$needed"
done
exit $failed
