#!/usr/bin/env bash
# CPython's own tests with a walk for holders at every thousandth pending call, about one each 40 ms:
#   tests/field/holders/cpython_tests.sh BUILD PYTHON [TEST...]
# Without tests all of them (hours). A test that fails is run again without Plateau; what fails there too is not ours.
# LIMIT: seconds for one test. A line for each test says how it went, for how long and how many walks it saw.
set -uo pipefail
build=$(realpath "$1"); python=$2; shift 2
here=$(realpath "$(dirname "$0")")
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
gcc -shared -fPIC -O2 -o "$work/storm.so" "$here/storm.c" -ldl -lpthread || exit 1
mkdir "$work/site" "$work/cwd"
cat > "$work/site/sitecustomize.py" <<END
try:
    import atexit
    import ctypes
    storm = ctypes.CDLL("$work/storm.so")
    if storm.start():
        atexit.register(storm.stop)
except (ImportError, OSError, AttributeError):
    pass
END
limit=${LIMIT:-900}
under=(env LD_PRELOAD="$build/lib/libplateau.so" PLATEAU_OUT="$work/recording" PLATEAU_SAMPLE_BYTES=16K
       PYTHONPATH="$work/site" STORM_COUNT="$work/count")
if [ $# -eq 0 ]; then
  mapfile -t tests < <("$python" -m test --list-tests)
else
  tests=("$@")
fi
run() {  # LOG COMMAND...
  local log=$1; shift
  (cd "$work/cwd" && timeout -k 10 "$limit" "$@" < /dev/null) > "$log" 2>&1
}
failed=0; all=0
for test in "${tests[@]}"; do
  : > "$work/count"; began=$SECONDS
  run "$work/log" "${under[@]}" "$python" -m test "$test"; code=$?
  seconds=$((SECONDS - began))
  walks=$(awk '{ sum += $1 } END { print sum + 0 }' "$work/count"); all=$((all + walks))
  rm -rf "$work/recording"
  result=passed
  grep -q "^Result: .*SKIPPED\|^1 test skipped\|NO TESTS RAN" "$work/log" && result=skipped
  if [ $code -ne 0 ] && [ $result = passed ]; then
    if run "$work/plain" "$python" -m test "$test"; then
      result="FAILS WITH THE WALKS ONLY ($code)"; failed=1; tail -40 "$work/log" >&2
    else
      result="fails without Plateau too"
    fi
  fi
  echo "$test: $result, $seconds s, $walks walks"
done
echo "${#tests[@]} tests, $all walks"
exit $failed
