#!/usr/bin/env bash
# Real programs give the same output and exit code under libplateau.so as without it.
#
#   tests/e2e/unchanged.sh [--all] [--mode default|exact] [CASE...]
#
# Each case runs once without the shim and once with it; what differs is printed. Without --all only cases that take
# seconds run. A case whose program is not installed is skipped and named. PLATEAU_BUILD is the build folder.
set -uo pipefail
: "${PLATEAU_BUILD:?set PLATEAU_BUILD to the build folder}"
source_folder=$(cd "$(dirname "$0")/../.." && pwd)
library=$PLATEAU_BUILD/lib/libplateau.so
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
all=0
modes="default exact"
wanted=()
while [ $# -gt 0 ]; do
  case $1 in
    --all) all=1 ;;
    --mode) modes=$2; shift ;;
    *) wanted+=("$1") ;;
  esac
  shift
done

# The newest python that has CPython's own tests.
test_python=
for candidate in /usr/bin/python3 $(ls -d "$HOME"/.pyenv/versions/3.*/bin/python3 2>/dev/null | sort -V); do
  [ -x "$candidate" ] && "$candidate" -c 'import test.test_multiprocessing_fork, test.test_capi' 2>/dev/null && test_python=$candidate
done

have() { command -v "$1" >/dev/null; }

case_sqlite() {
  have sqlite3 || return 77
  printf '%s\n' "create table t(a integer, b text);" \
    "with recursive n(i) as (select 1 union all select i+1 from n where i<200000) insert into t select i, hex(i*7919) from n;" \
    "create index x on t(b);" "select count(*), sum(a), max(b) from t where b like '%7';" \
    "select length(group_concat(b)) from t;" | sqlite3 :memory:
}

case_redis() {
  have redis-server && have redis-cli || return 77
  redis-server --port 0 --unixsocket "$1/redis.sock" --save "" --daemonize no --loglevel warning >/dev/null &
  local server=$!
  for _ in $(seq 1200); do [ -S "$1/redis.sock" ] && break; sleep 0.05; done
  for i in $(seq 2000); do echo "SET key:$i $(printf '%0100d' "$i")"; done | redis-cli -s "$1/redis.sock" | sort | uniq -c
  have redis-benchmark && redis-benchmark -s "$1/redis.sock" -q -n 20000 -t set,get,lpush >/dev/null
  redis-cli -s "$1/redis.sock" dbsize
  redis-cli -s "$1/redis.sock" shutdown nosave
  wait $server
  echo "server exit $?"
}

case_git() {
  have git || return 77
  git clone -q --no-hardlinks "$source_folder" "$1/clone" 2>&1
  git -C "$1/clone" log --format=%H | sha256sum
  git -C "$1/clone" fsck 2>&1 | grep -v '^Checking' | sort
  git -C "$1/clone" gc -q 2>&1
}

case_cc1plus() {
  have g++ || return 77
  (cd "$source_folder" && g++ -std=c++20 -O1 -I. -c analyzer/reader/block_index.cc -o "$1/out.o" 2>&1)
  echo "exit $?"
  objdump -d "$1/out.o" | sed 1,3d | sha256sum
}

case_node() {
  have node || return 77
  node -e 'const m=new Map();for(let i=0;i<3e5;i++)m.set("k"+i%5e4,{v:i,s:"x".repeat(i%90)});let t=0;for(const v of m.values())t+=v.v+v.s.length;
    console.log(t, JSON.stringify([...m.keys()]).length, require("zlib").gzipSync(Buffer.alloc(1e6,"ab")).length)'
}

case_java() {
  have javac || return 77
  cat >"$1/Hello.java" <<'JAVA'
public class Hello {
  public static void main(String[] a) throws Exception {
    long sum = 0;
    java.util.List<byte[]> kept = new java.util.ArrayList<>();
    for (int i = 0; i < 2000; i++) { kept.add(new byte[1000 + i]); sum += kept.get(i / 2).length; }
    Thread[] t = new Thread[4];
    for (int i = 0; i < 4; i++) { t[i] = new Thread(() -> { for (int j = 0; j < 1000; j++) new int[j].clone(); }); t[i].start(); }
    for (Thread x : t) x.join();
    System.out.println("hello " + sum);
    System.exit(5);
  }
}
JAVA
  (cd "$1" && javac Hello.java && java -Xmx128m Hello)
}

case_rust() {
  have rustc || return 77
  cat >"$1/main.rs" <<'RUST'
use std::{collections::HashMap, thread};
fn main() {
    let handles: Vec<_> = (0..4u64).map(|n| thread::spawn(move || {
        let mut m = HashMap::new();
        for i in 0..50000u64 { m.insert(i * 7919 % 10007, vec![n as u8; (i % 300) as usize]); }
        m.values().map(|v| v.len() as u64).sum::<u64>()
    })).collect();
    let total: u64 = handles.into_iter().map(|h| h.join().unwrap()).sum();
    println!("{}", total);
    std::process::exit(3);
}
RUST
  [ -x "$work/rust" ] || LD_PRELOAD= rustc -O -o "$work/rust" "$1/main.rs" || return 77
  "$work/rust"
}

case_go() {
  have go || return 77
  cat >"$1/main.go" <<'GO'
package main

import "fmt"

func main() {
	m := map[int][]byte{}
	for i := 0; i < 200000; i++ {
		m[i*7919%10007] = make([]byte, i%300)
	}
	n := 0
	for _, v := range m {
		n += len(v)
	}
	fmt.Println(n)
}
GO
  [ -x "$work/go-program" ] || (cd "$1" && LD_PRELOAD= GOCACHE="$work/gocache" go build -o "$work/go-program" main.go) || return 77
  "$work/go-program"
}

# The programs of unchanged_commands.tsv: small, many, each with words and a C project at hand.
commands_file=$source_folder/tests/e2e/unchanged_commands.tsv
command_names() { grep -v '^#' "$commands_file" | cut -f1; }
run_command() {  # name, folder
  have "${1%%.*}" || [ -x "/usr/sbin/${1%%.*}" ] || { [ "${1%.*}" != "$1" ] && have "$1"; } || return 77
  local command
  command=$(awk -F'\t' -v name="$1" '$1 == name { sub(/^[^\t]*\t/, ""); print }' "$commands_file")
  (
    LD_PRELOAD= awk 'BEGIN { for (i = 0; i < 20000; ++i) printf "%c%c%x\n", 97 + i % 26, 97 + i * 7 % 26, i * 7919 % 4096 }' >words.txt
    mkdir -p project
    printf 'int other(int);\nint main(void) { return other(4); }\n' >project/main.c
    printf '#include <stdlib.h>\nint other(int n) { char* p = malloc(1000); free(p); return n; }\n' >project/other.c
    printf 'program: main.o other.o\n\t$(CC) -o $@ $^\n' >project/Makefile
    printf 'cmake_minimum_required(VERSION 3.16)\nproject(p C)\nadd_executable(program main.c other.c)\n' >project/CMakeLists.txt
    printf '#!/bin/sh\nexit 6\n' >project/run.sh
    chmod +x project/run.sh
  )
  timeout 120 bash -c "$command"
}

# CPython's own tests: the result of every single test must not depend on us.
run_python_tests() {
  [ -n "$test_python" ] || return 77
  local log=$1/log results=$1/results.xml
  shift
  # What can be noticed: docs/limitations.md. Both ask who allocates Python's objects.
  "$test_python" -m test -j2 --timeout 300 -i test_debugmallocstats -i test_pythonmalloc \
    --junit-xml "$results" "$@" >"$log" 2>&1
  echo "exit $?"
  "$test_python" - "$results" <<'PY'
import sys, xml.etree.ElementTree as tree
rows = set()
for case in tree.parse(sys.argv[1]).iter("testcase"):
    kinds = sorted({child.tag for child in case} & {"failure", "error", "skipped"})
    rows.add("%s %s %s" % (case.get("classname") or "", case.get("name"), "+".join(kinds) or case.get("result") or "ok"))
print(len(rows), "tests")
print("\n".join(sorted(rows)))
PY
}
case_python_short() { run_python_tests "$1" test_json test_dict test_gc test_mmap test_thread test_fork1; }
case_python_long() {
  run_python_tests "$1" test_capi test_multiprocessing_fork test_threading test_subprocess test_os test_posix test_json \
    test_dict test_list test_set test_gc test_weakref test_mmap test_thread test_threading_local test_fork1 test_signal \
    test_faulthandler test_ctypes test_socket test_selectors test_queue test_pickle test_marshal test_struct test_re \
    test_zlib test_bz2 test_sqlite3 test_hashlib test_io test_memoryview test_bytes test_unicode test_cmd_line test_sys \
    test_traceback
}
# Ten minutes a pass.
case_python_slow() { run_python_tests "$1" test_asyncio test_concurrent_futures test_venv; }

case_torch_python() {
  /usr/bin/python3 -c 'import torch' 2>/dev/null || return 77
  /usr/bin/python3 - <<'PY'
import torch
torch.manual_seed(1)
model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
optimizer = torch.optim.Adam(model.parameters())
class Data(torch.utils.data.Dataset):
    def __len__(self): return 256
    def __getitem__(self, i): return torch.full((64,), float(i % 17)), i % 10
for epoch in range(2):
    for x, y in torch.utils.data.DataLoader(Data(), batch_size=32, num_workers=2):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
print("%.6f" % loss.item(), sum(p.sum().item() for p in model.parameters()) > -1e9)
PY
}

case_torch_cpp() {
  local program
  program=$(ls "$PLATEAU_BUILD"/examples/*train* "$PLATEAU_BUILD"/bin/*train* 2>/dev/null | head -1)
  [ -x "$program" ] || return 77
  timeout 100 "$program" >"$1/out" 2>&1
  echo "exit $?"
  grep -v -iE 'second|time| ms|MB|MiB' "$1/out"
}

short_cases="sqlite redis git cc1plus node java rust go python_short torch_python"
long_cases="$(command_names | tr '\n' ' ') $short_cases torch_cpp python_long python_slow"
cases=$short_cases
[ $all = 1 ] && cases=$long_cases
[ ${#wanted[@]} -gt 0 ] && cases=${wanted[*]}

run_case() {  # name, folder; the caller sets LD_PRELOAD
  mkdir -p "$2"
  if declare -F "case_$1" >/dev/null; then
    (cd "$2" && TMPDIR=$2 "case_$1" "$2") >"$2.out" 2>"$2.err"
  else
    (cd "$2" && TMPDIR=$2 run_command "$1") >"$2.out" 2>"$2.err"
  fi
}

failed=0
for name in $cases; do
  (unset LD_PRELOAD; run_case "$name" "$work/$name.bare")
  bare=$?
  if [ $bare = 77 ]; then
    echo "SKIP $name: not installed here"
    continue
  fi
  for mode in $modes; do
    begin=$(date +%s%N)
    (
      export LD_PRELOAD=$library PLATEAU_MODE=$mode PLATEAU_OUT=$work/recording
      run_case "$name" "$work/$name.$mode"
    )
    traced=$?
    traces=$(find "$work/recording" -name '*.plt' 2>/dev/null | wc -l)
    bytes=$(du -sm "$work/recording" 2>/dev/null | cut -f1)
    if [ $bare != $traced ] || ! cmp -s "$work/$name.bare.out" "$work/$name.$mode.out" ||
      grep -q '^plateau: ' "$work/$name.$mode.err"; then
      echo "FAIL $name ($mode): exit $bare without, $traced with the shim"
      diff "$work/$name.bare.out" "$work/$name.$mode.out" | head -40
      grep '^plateau: ' "$work/$name.$mode.err" | head -5
      failed=1
    else
      echo "ok   $name ($mode): $(((($(date +%s%N) - begin)) / 1000000)) ms, $traces traces, ${bytes:-0} MB"
    fi
    rm -rf "$work/recording" "$work/$name.$mode"
  done
  rm -rf "$work/$name.bare"
done
exit $failed
