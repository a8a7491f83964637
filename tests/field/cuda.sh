#!/usr/bin/env bash
# Field test of the CUDA shim with software of others: real PyTorch CUDA builds and real NVIDIA runtimes, no GPU.
#
# usage: tests/field/cuda.sh BUILD_DIR WORK_DIR [runtimes] [torch VERSION...] [verdicts VERSION...]
#   BUILD_DIR  a build of Plateau with tests, e.g. build/dev
#   WORK_DIR   scratch space for private environments and downloads: 4 GB per PyTorch, 6 GB for the runtimes
#   runtimes   the NVIDIA packages: which wrappers are they handed?
#   torch      each VERSION in seven ways (native allocator, expandable segments, cudaMallocAsync, no caching, pinned
#              DataLoader, CUDA graph, out of memory): do the events equal torch.cuda.memory_stats()?
#   verdicts   a leak, fragmentation and a warm-up on the device through all of Plateau: does the report say so, and
#              where? Needs the targets plateau and plateau_preload.
# Without further words: runtimes torch 2.6.0 2.15.0 verdicts 2.6.0. Not part of ctest: it downloads with pip. PYTHON chooses the
# interpreter (default python3).
set -eu
build=$(realpath "$1"); mkdir -p "$2"; work=$(realpath "$2"); shift 2
here=$(dirname "$(realpath "$0")"); root=$here/../..
python=${PYTHON:-python3}
shim=$build/lib/libplateau_cuda.so
recorder=$build/tests/cuda_programs/libdevice_event_recorder.so
[ -e "$shim" ] && [ -e "$recorder" ] || { echo "build the targets plateau_cuda and device_event_recorder first"; exit 2; }
[ $# -gt 0 ] || set -- runtimes torch 2.6.0 2.15.0 verdicts 2.6.0
failed=0
export PIP_ROOT_USER_ACTION=ignore

# check_runtime LABEL PACKAGE PATTERN FUNCTION
check_runtime() {
  local dir=$work/packages/$2 logs=$work/runtime-$1
  [ -d "$dir" ] || "$python" -m pip install -q --no-deps --target "$dir" "$2"
  local library; library=$(find "$dir" -name "$3" | sort | head -1)
  [ -n "$library" ] || { echo "$1: no $3 in $2"; failed=1; return; }
  rm -rf "$logs"; mkdir -p "$logs"; : > "$logs/events"; : > "$logs/null"
  LD_LIBRARY_PATH=$build/tests/nulldevice/lib:$(find "$work/packages" -name lib -type d | paste -sd:) \
    NULLDEVICE_STUBS=1 NULLDEVICE_LOG=$logs/null DEVICE_EVENT_LOG=$logs/events LD_PRELOAD=$shim:$recorder \
    timeout 120 "$python" "$here/use_runtime.py" "$library" "$4" > "$logs/out" 2>&1 || true
  "$python" "$here/check_handed_out.py" "$1" "$logs/events" "$logs/null" || failed=1
}

check_runtimes() {
  check_runtime libcudart-11.8 nvidia-cuda-runtime-cu11 'libcudart.so.1*' cudaMalloc
  check_runtime libcudart-12 nvidia-cuda-runtime-cu12 'libcudart.so.1*' cudaMalloc
  check_runtime libcudart-13 nvidia-cuda-runtime 'libcudart.so.1*' cudaMalloc
  check_runtime cuBLAS-12 nvidia-cublas-cu12 'libcublas.so.1*' cublasCreate_v2
  check_runtime cuDNN-9 nvidia-cudnn-cu12 'libcudnn.so.9' cudnnCreate
  check_runtime NCCL-2 nvidia-nccl-cu12 'libnccl.so.2' ncclCommInitAll
}

# run_torch VERSION MODE
run_torch() {
  local logs=$work/torch-$1-$2 scenario=plain configuration= caching=
  case $2 in
    expandable) configuration=expandable_segments:True ;;
    async) configuration=backend:cudaMallocAsync ;;
    uncached) caching=PYTORCH_NO_CUDA_MEMORY_CACHING=1 ;;
    pinned | graph | oom) scenario=$2 ;;
  esac
  rm -rf "$logs"; mkdir -p "$logs"
  env LD_LIBRARY_PATH="$work/null-$1" PYTORCH_CUDA_ALLOC_CONF=$configuration $caching NULLDEVICE_STUBS=1 \
    NULLDEVICE_LOG="$logs/null" DEVICE_EVENT_LOG="$logs/events" LD_PRELOAD="$shim:$recorder" \
    timeout 300 "$work/env-$1/bin/python" -W ignore "$here/train_cuda.py" $scenario 20 > "$logs/out" 2>&1 ||
    { tail -5 "$logs/out"; failed=1; return; }
  "$python" "$here/check_cuda.py" "$2" "$logs/events" "$logs/out" "$logs/null" || failed=1
}

# run_verdict VERSION SCENARIO
run_verdict() {
  local logs=$work/verdict-$1-$2
  rm -rf "$logs"; mkdir -p "$logs"
  env LD_LIBRARY_PATH="$work/null-$1" NULLDEVICE_STUBS=1 PLATEAU_OUT="$logs/rec" PLATEAU_QUIET=1 \
    LD_PRELOAD="$build/lib/libplateau.so:$shim" \
    "$work/env-$1/bin/python" -W ignore "$here/train_cuda.py" "$2" 72 > "$logs/out" 2>&1 ||
    { tail -5 "$logs/out"; failed=1; return; }
  "$build/bin/plateau" report "$logs/rec" --json "$logs/report.json" > "$logs/card" ||
    { failed=1; return; }
  "$python" "$here/check_verdicts.py" "$2" "$logs/report.json" "$here/train_cuda.py" || failed=1
}

is_word() { [ "$1" = runtimes ] || [ "$1" = torch ] || [ "$1" = verdicts ]; }

prepare_torch() {
  [ -d "$work/env-$1" ] || {
    "$python" -m venv "$work/env-$1"
    "$work/env-$1/bin/pip" install -q --no-deps "torch==$1"
    "$work/env-$1/bin/pip" install -q filelock typing_extensions sympy networkx jinja2 fsspec numpy
  }
  "$python" "$here/null_cuda_libraries.py" "$("$work/env-$1/bin/python" -c \
    'import sysconfig; print(sysconfig.get_paths()["purelib"])')/torch/lib" "$root/tests/nulldevice" "$work/null-$1"
}

while [ $# -gt 0 ]; do
  case $1 in
    runtimes) check_runtimes; shift ;;
    torch)
      shift
      while [ $# -gt 0 ] && ! is_word "$1"; do
        prepare_torch "$1" > "$work/prepare-$1.log"
        for mode in native expandable async uncached pinned graph oom; do run_torch "$1" $mode; done
        shift
      done ;;
    verdicts)
      shift
      while [ $# -gt 0 ] && ! is_word "$1"; do
        prepare_torch "$1" > "$work/prepare-$1.log"
        for scenario in leak fragment warm_up; do run_verdict "$1" $scenario; done
        shift
      done ;;
    *) echo "unknown word: $1"; exit 2 ;;
  esac
done
exit $failed
