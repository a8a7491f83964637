#!/usr/bin/env bash
# The wheel on other Pythons of this machine: a virtual environment of each, the wheel by its pip, and a leak that must be found with
# its line.
#
#   tests/field/pythons.sh [--wheel dist/NAME.whl] PYTHON...        e.g. ~/.pyenv/versions/*/bin/python3
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
wheel=$(ls "$here"/../../dist/plateau_trace-*.whl 2> /dev/null | tail -n 1)
if [ "${1:-}" = --wheel ]; then
  wheel=$2
  shift 2
fi
[ -n "$wheel" ] && [ $# -gt 0 ] || { echo "usage: $0 [--wheel FILE] PYTHON...; tools/wheel makes the wheel" >&2; exit 2; }
status=0
for python in "$@"; do
  folder=$(mktemp -d)
  cp "$here"/systems/* "$wheel" "$folder/"
  echo "== $("$python" -VV 2>&1 | head -n 1)"
  if "$python" -m venv "$folder/venv" && PATH=$folder/venv/bin:$PATH "$folder/venv/bin/python" "$folder/check.py" --python-only; then
    echo "   leak.py with its line"
  else
    status=1
    plateau=$folder/venv/bin/plateau
    [ -d "$folder/work/recording-python" ] && "$plateau" report "$folder/work/recording-python" | grep -A3 -i -E '^Levels|python'
  fi
  rm -rf "$folder"
done
exit $status
