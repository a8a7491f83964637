#!/usr/bin/env bash
# CPython's own tests with a walk for holders at every thousandth pending call, about one each 60 ms:
#   tests/field/holders/cpython_tests.sh BUILD PYTHON [TEST...]
# Without tests all of them (an hour). A test that fails is run again without Plateau; what fails there too is not ours.
set -uo pipefail
build=$(realpath "$1"); python=$2; shift 2
here=$(realpath "$(dirname "$0")")
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
gcc -shared -fPIC -O2 -o "$work/storm.so" "$here/storm.c" -ldl -lpthread || exit 1
cat > "$work/sitecustomize.py" <<END
import ctypes
try:
    import atexit
    storm = ctypes.CDLL("$work/storm.so")
    storm.start()
    atexit.register(storm.stop)
except (OSError, AttributeError):
    pass
END
under=(env LD_PRELOAD="$build/lib/libplateau.so" PLATEAU_OUT="$work/recording" PLATEAU_SAMPLE_BYTES=16K PYTHONPATH="$work")
if [ $# -eq 0 ]; then
  mapfile -t tests < <("$python" -m test --list-tests)
else
  tests=("$@")
fi
failed=0
for test in "${tests[@]}"; do
  if (cd "$work" && timeout 900 "${under[@]}" "$python" -m test "$test") > "$work/log" 2>&1; then continue; fi
  code=$?
  if (cd "$work" && timeout 900 "$python" -m test "$test") > "$work/plain" 2>&1; then
    echo "$test: fails with the walks only ($code)"; tail -30 "$work/log"; failed=1
  else
    echo "$test: fails without Plateau too"
  fi
done
walks=$("$build/bin/plateau" dump "$work/recording" 2> /dev/null | grep -c '^\(@[0-9]* \)\?holder_walk.*result=done')
echo "${#tests[@]} tests, $walks walks"
exit $failed
