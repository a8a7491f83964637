#!/usr/bin/env bash
# The same shim binary on other releases of PyTorch: installs each into a venv of its own and runs tests/e2e/steps_test.py there.
#
#   tests/field/torch_versions.sh BUILD VERSION...        e.g. build/dev 2.6.0 2.14.1
#
# PYTHON chooses the interpreter (default: python3.11 of pyenv, else python3), VENVS the folder (default /tmp/plateau-torch), and
# TORCH_INDEX a package index with CPU builds. Without one the default builds are taken, several GB each with their CUDA
# libraries; they run on machines without a GPU too. Not part of the normal tests: it needs the network and a lot of disk.
set -eu

build=$(realpath "$1")
shift
source=$(realpath "$(dirname "$0")/../..")
venvs=${VENVS:-/tmp/plateau-torch}
python=${PYTHON:-$(ls "$HOME"/.pyenv/versions/3.11.*/bin/python3 2>/dev/null | tail -1)}
python=${python:-python3}
status=0

for version in "$@"; do
  venv=$venvs/$version
  if [ ! -x "$venv/bin/python" ]; then
    "$python" -m venv "$venv"
    "$venv/bin/pip" install --quiet ${TORCH_INDEX:+--index-url "$TORCH_INDEX"} "torch==$version" numpy
  fi
  echo "== torch $("$venv/bin/python" -c 'import torch, platform; print(torch.__version__, "Python", platform.python_version())')"
  PLATEAU_BUILD=$build PLATEAU_SOURCE=$source PLATEAU_TEST_PYTHON=$venv/bin/python \
    "$venv/bin/python" "$source/tests/e2e/steps_test.py" || status=1
done
exit $status
