#!/usr/bin/env bash
# Fuzzes one target after the other and says of each what it did.
#
#   tests/fuzz/soak.sh CORPUS SECONDS [TARGET...]
#
# CORPUS is a folder outside of the tree: each target keeps what it found in CORPUS/TARGET, and goes on from there the next time.
# SECONDS are for each target; without TARGET all that build/fuzz has (PLATEAU_BUILD names another folder). A row of the table: the target,
# executions, executions a second, edges covered, files in its corpus, peak memory in MB, findings. A finding is a file in
# CORPUS/TARGET.found. No request over 512 MB is allowed, and no input may take more than a minute (of the clock: a busy machine is slow). Exit code 1 when anything was found.
set -uo pipefail
source_folder=$(cd "$(dirname "$0")/../.." && pwd)
build=${PLATEAU_BUILD:-$source_folder/build/fuzz}
[ $# -ge 2 ] || { sed -n '4s/^# *//p' "$0" >&2; exit 2; }
corpus=$1
seconds=$2
shift 2
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=($(cd "$build/fuzz" && ls | grep '_fuzz$'))
folder_of() {
  case $1 in
    column_fuzz) echo decoder ;;
    *) echo "${1%_fuzz}" ;;
  esac
}
found_any=0
for target in "${targets[@]}"; do
  mkdir -p "$corpus/$target" "$corpus/$target.found"
  log=$corpus/$target.log
  begin=$(date +%s%N)
  "$build/fuzz/$target" -max_total_time="$seconds" -print_final_stats=1 -timeout=60 -malloc_limit_mb=512 -rss_limit_mb=4096 \
    -artifact_prefix="$corpus/$target.found/" "$corpus/$target" "$source_folder/tests/fuzz/corpus/$(folder_of "$target")" >"$log" 2>&1
  code=$?
  elapsed_ms=$((($(date +%s%N) - begin) / 1000000))
  executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  peak=$(sed -n 's/^stat::peak_rss_mb: *//p' "$log")
  edges=$(grep -o ' cov: [0-9]*' "$log" | tail -n 1 | cut -d' ' -f3)
  found=$(find "$corpus/$target.found" -type f | wc -l)
  [ "$code" = 0 ] && [ "$found" = 0 ] || found_any=1
  printf '%-20s %12s %9s/s %7s edges %6s files %6s MB %3s found, exit %s\n' "$target" "${executions:-?}" \
    "$((${executions:-0} * 1000 / (elapsed_ms + 1)))" "${edges:-?}" "$(find "$corpus/$target" -type f | wc -l)" "${peak:-?}" "$found" "$code"
done
exit $found_any
