#!/usr/bin/env bash
# The wheel in every kind of place that people install into; each must find a leak with its line, through the command that the
# installer made.
#
#   tests/field/installs.sh [--wheel dist/NAME.whl] PYTHON        a CPython with a prefix of its own, e.g. ~/.pyenv/versions/3.12.1/bin/python3
#
# Tried: a virtual environment, one whose path has spaces, `pip install --user`, `--target`, uv's environments and tools, pipx's way (the
# command is a link in another folder), a copy of PYTHON's whole prefix, which has the layout of a conda environment, and the same without
# the right to write it. uv comes from the package registry. As root, the last one runs as nobody.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
wheel=$(ls "$here"/../../dist/plateau_trace-*.whl 2> /dev/null | tail -n 1)
if [ "${1:-}" = --wheel ]; then
  wheel=$(realpath "$2")
  shift 2
fi
[ -n "$wheel" ] && [ $# -eq 1 ] || { echo "usage: $0 [--wheel FILE] PYTHON; tools/wheel makes the wheel" >&2; exit 2; }
python=$1
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
chmod 755 "$folder"
unset PYTHONPATH LD_PRELOAD
export PIP_DISABLE_PIP_VERSION_CHECK=1
status=0

try() {  # NAME PLATEAU PYTHON [PREFIX COMMAND...]
  local name=$1 plateau=$2 interpreter=$3 work=$folder/work
  shift 3
  rm -rf "$work" && mkdir -m 777 "$work" && cp "$here/systems/leak.py" "$work/"
  local said
  said=$(cd "$work" && "$@" "$plateau" run -- "$interpreter" leak.py 2>&1)
  if grep -q '^ LEAK' <<< "$said" && grep -q '^leak.py:12 in keep keeps' <<< "$said"; then
    echo "right   $name"
  else
    echo "WRONG   $name"
    sed 's/^/        /' <<< "$said"
    status=1
  fi
}
quietly() { "$@" > "$folder/log" 2>&1 || { cat "$folder/log"; status=1; }; }

venv() { "$python" -m venv "$1" && "$1/bin/pip" install --quiet --no-index "$wheel"; }
quietly venv "$folder/venv"
try "virtual environment" "$folder/venv/bin/plateau" "$folder/venv/bin/python"
quietly venv "$folder/an environment with spaces"
try "path with spaces" "$folder/an environment with spaces/bin/plateau" "$folder/an environment with spaces/bin/python"
ln -s "$folder/an environment with spaces/bin/plateau" "$folder/plateau"
try "command as a link in another folder" "$folder/plateau" "$folder/an environment with spaces/bin/python"

export PYTHONUSERBASE=$folder/user
quietly "$python" -m pip install --quiet --no-index --user --no-warn-script-location "$wheel"
try "pip install --user" "$folder/user/bin/plateau" "$python"
unset PYTHONUSERBASE

quietly "$python" -m pip install --quiet --no-index --target "$folder/target" "$wheel"
try "pip install --target" "$folder/target/bin/plateau" "$python" env PYTHONPATH="$folder/target"

# The prefix as a whole, moved: python, lib/python3.N/site-packages, bin. Conda's environments have this layout.
prefix=$("$python" -c 'import sys; print(sys.base_prefix)')
mkdir "$folder/conda" && cp -a "$prefix/." "$folder/conda/"
export LD_LIBRARY_PATH=$folder/conda/lib
quietly "$folder/conda/bin/python3" -m pip install --quiet --no-index --no-warn-script-location "$wheel"
try "prefix of its own (conda's layout)" "$folder/conda/bin/plateau" "$folder/conda/bin/python3"
unset LD_LIBRARY_PATH

if "$python" -m venv "$folder/uv" && "$folder/uv/bin/pip" install --quiet uv; then
  uv=$folder/uv/bin/uv
  quietly "$uv" venv --quiet --python "$python" "$folder/by uv"
  quietly "$uv" pip install --quiet --no-index --python "$folder/by uv/bin/python" "$wheel"
  try "uv pip install" "$folder/by uv/bin/plateau" "$folder/by uv/bin/python"
  export UV_TOOL_DIR=$folder/tools UV_TOOL_BIN_DIR=$folder/tool-bin
  quietly "$uv" tool install --quiet --no-index --python "$python" "$wheel"
  try "uv tool install, another Python recorded" "$folder/tool-bin/plateau" "$python" env PYTHONPATH="$folder/target"
else
  echo "not tried: uv, which the registry did not give"
fi

# The moved prefix again, now of somebody who may not write it.
chmod -R a-w "$folder/conda"
nobody=(env LD_LIBRARY_PATH="$folder/conda/lib")
[ "$(id -u)" != 0 ] || nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups env HOME=/nonexistent LD_LIBRARY_PATH="$folder/conda/lib")
try "read-only site-packages" "$folder/conda/bin/plateau" "$folder/conda/bin/python3" "${nobody[@]}"
exit $status
