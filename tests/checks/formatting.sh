#!/usr/bin/env bash
# Every C++ file of the repository is formatted as .clang-format says.
set -euo pipefail
cd "${PLATEAU_SOURCE:-$(dirname "$0")/../..}"
command -v clang-format > /dev/null || { echo "clang-format is missing; tools/setup test installs it" >&2; exit 1; }
mapfile -t files < <(find preload analyzer tests bench examples \( -name '*.cc' -o -name '*.h' \) -not -path '*/node_modules/*')
[ ${#files[@]} -gt 0 ] || { echo "no files found" >&2; exit 1; }
badly=$(clang-format --dry-run --Werror "${files[@]}" 2>&1 | sed -n 's/:[0-9]*:[0-9]*: error:.*//p' | sort -u || true)
if [ -n "$badly" ]; then
  printf '%s\n' "$badly" "clang-format -i these files"
  exit 1
fi
echo "${#files[@]} files are formatted"
