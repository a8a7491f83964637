"""Runs AArch64 builds under qemu-user and compares what the analyzer of this machine says with what the programs did.

Called by tests/field/aarch64.sh in a namespace of its own, where the emulator is registered."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

BUILD = pathlib.Path(os.environ["PLATEAU_BUILD"])
SOURCE = pathlib.Path(os.environ["PLATEAU_SOURCE"])
ROOT = pathlib.Path(os.environ["PLATEAU_SYSROOT"])
ANALYZER = os.environ["PLATEAU_ANALYZER"]
SHIM = BUILD / "lib/libplateau.so"
PYTHON = ROOT / "usr/bin/python3.11"
WORK = pathlib.Path(tempfile.mkdtemp(prefix="plateau-aarch64-"))

MAGIC = r"\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00"
MASK = r"\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff"

# Logic that depends on the processor, and what it is made of.
UNIT_TESTS = ["hook_frame_test", "page_size_test", "clock_test", "checksum_test", "returned_test", "raw_memory_test",
              "unwind_capture_test", "unwind_odd_stack_test", "unwind_stack_bounds_test", "unwind_loaded_object_test",
              "unwind_intern_cache_test", "unwind_rule_table_test"]
PROGRAM_TESTS = ["truth_test", "threads_test", "kill_storm_test", "processes_test", "trace_file_test"]


def register_emulator():
    subprocess.run(["mount", "-t", "binfmt_misc", "binfmt_misc", "/proc/sys/fs/binfmt_misc"], check=True)
    emulator = shutil.which("qemu-aarch64-static")
    with open("/proc/sys/fs/binfmt_misc/register", "w") as rule:
        rule.write(f":plateau-aarch64:M::{MAGIC}:{MASK}:{emulator}:F")


def run_tests(names):
    failed = []
    for name in names:
        program = BUILD / "tests" / name
        if not program.exists():
            failed.append(f"{name} (not built)")
            continue
        started = time.monotonic()
        # One case counts address space, in which the emulator keeps what it has translated.
        done = subprocess.run([program, "--gtest_filter=-*TakesNoAddressSpace"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=WORK)
        text = done.stdout.decode(errors="replace")
        summary = [line for line in text.splitlines() if line.startswith(("[  PASSED", "[  FAILED")) or " captures (" in line]
        print(f"  {name}: exit {done.returncode}, {time.monotonic() - started:.0f} s; {'; '.join(summary)}", flush=True)
        if done.returncode != 0:
            failed.append(name)
            print("\n".join("    " + line for line in text.splitlines()[-40:]))
    return failed


def record(name, *command, mode="default"):
    place = WORK / name
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    environment = dict(os.environ, LD_PRELOAD=str(SHIM), PLATEAU_OUT=str(place), PLATEAU_MODE=mode, PLATEAU_QUIET="1",
                       PYTHONHOME=str(ROOT / "usr"), PYTHONPATH=str(SOURCE / "python"), OMP_NUM_THREADS="2")
    return place, subprocess.Popen([str(word) for word in command], env=environment, stdout=subprocess.PIPE)


def report_of(place):
    text = subprocess.run([ANALYZER, "report", str(place), "--sysroot", str(ROOT), "--json", "-"], stdout=subprocess.PIPE, check=True).stdout
    return json.loads(text)


def expect(what, found, wanted):
    if found != wanted:
        raise AssertionError(f"{what} is {found!r}, not {wanted!r}")


def line_of(file, mark):
    with open(file) as text:
        return next(number for number, line in enumerate(text, 1) if mark in line)


def finish(program):
    output = program.communicate()[0].decode()
    expect("exit code", program.returncode, 0)
    return output


def check_python():
    leak = SOURCE / "tests/field/systems/leak.py"
    for mode in ("default", "exact"):
        place, program = record("python-" + mode, PYTHON, leak, mode=mode)
        finish(program)
        report = report_of(place)
        top = report["sites"][0]
        expect("verdict", report["verdict"], "leak")
        expect("line", (os.path.basename(top["file"]), top["line"], top["function"]), ("leak.py", line_of(leak, "# THE LINE"), "keep"))
        expect("stacks that are missing", [site["site"] for site in report["sites"] if "[no stack]" in site["site"]], [])
        # A frame of the shim as a leaf would be a walk that began in the wrong place.
        expect("leaves in the shim", [site["site"] for site in report["sites"] if site["stack"] and "plateau::" in site["stack"][0]["function"]], [])
        print(f"  {mode}: leak, leak.py:{top['line']}, {report['steps']['count']} steps")
    place, program = record("killed", PYTHON, leak, "--until-killed")
    os.kill(int(program.stdout.readline()), signal.SIGKILL)
    program.wait()
    report = report_of(place)
    expect("verdict of the killed run", report["verdict"], "leak")
    expect("its steps", report["steps"]["count"], 150)
    print("  killed: leak, 150 steps, nothing lost")
    return []


def check_torch():
    for example, mark, verdict in (("batch_kept.py", "# LEAK", "leak"), ("image_cache.py", "# HOLDS", "cache_fill")):
        file = SOURCE / "examples" / example
        place, program = record(example, PYTHON, file)
        started = time.monotonic()
        finish(program)
        report = report_of(place)
        expect("verdict of " + example, report["verdict"], verdict)
        top = next(site for site in report["sites"] if site["verdict"] == verdict)
        expect("file", os.path.basename(top["file"]), example)
        if mark not in open(file).read().splitlines()[top["line"] - 1]:
            raise AssertionError(f"{example}:{top['line']} is not a marked line")
        print(f"  {example}: {verdict} at line {top['line']}, {time.monotonic() - started:.0f} s")
    return []


def check_wheel():
    """The wheel in the tree itself, as tests/field/systems.sh tries it on other systems."""
    systems, place = SOURCE / "tests/field/systems", ROOT / "plateau"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(systems, place)
    shutil.copytree(SOURCE / "examples", place / "examples")
    shutil.copy(os.environ["PLATEAU_WHEEL"], place)
    (place / "built").mkdir()
    compiler = ["aarch64-linux-gnu-g++", "-g", "-O1", "-fno-inline"]
    subprocess.run([*compiler, systems / "native.cc", "-o", place / "built/native", "-ldl", "-pthread"], check=True)
    subprocess.run([*compiler, "-fno-optimize-sibling-calls", "-shared", "-fPIC", systems / "plugin.cc", "-o", place / "built/plugin.so"], check=True)
    for folder in ("proc", "dev", "sys"):
        subprocess.run(["mount", "--rbind", f"/{folder}", ROOT / folder], check=True)
    environment = {"HOME": "/root", "LC_ALL": "C.UTF-8", "PATH": "/usr/local/bin:/usr/bin:/bin", "OMP_NUM_THREADS": "2",
                   "PIP_ROOT_USER_ACTION": "ignore", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    done = subprocess.run([shutil.which("chroot"), ROOT, "/usr/bin/python3", "/plateau/check.py", "--torch=" + os.environ["PLATEAU_TORCH"]], env=environment)
    if (place / "row.md").exists():
        print((place / "row.md").read_text())
    return [] if done.returncode == 0 else ["wheel"]


CHECKS = {"unit": lambda: run_tests(UNIT_TESTS), "capture": lambda: run_tests(["unwind_property_test"]),
          "programs": lambda: run_tests(PROGRAM_TESTS), "python": check_python, "torch": check_torch,
          "wheel": check_wheel}


def main():
    register_emulator()
    failed = []
    for name in sys.argv[1:]:
        print(f"== {name}", flush=True)
        try:
            failed += CHECKS[name]()
        except Exception as error:  # one that fails must not hide the others
            print(f"  FAILED: {error}")
            failed.append(name)
    shutil.rmtree(WORK, ignore_errors=True)
    print(f"FAILED: {', '.join(failed)}" if failed else "all right")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
