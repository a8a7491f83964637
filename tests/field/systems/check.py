"""Runs inside another system: installs the wheel that lies beside this file, records programs there, and compares what the report
says with what the programs did. Writes a row of a table to row.md. Called by tests/field/systems.sh."""
import argparse
import glob
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
WORK = os.path.join(HERE, "work")


def run(*command, code=0, **options):
    done = subprocess.run(list(command), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
    text = done.stdout.decode(errors="replace")
    if code is not None and done.returncode != code:
        raise AssertionError("%s: exit %d\n%s" % (" ".join(command), done.returncode, text[-3000:]))
    return text


def report_of(name, *command, code=0):
    """Records a program and reads the report."""
    place = os.path.join(WORK, "recording-" + name)
    shutil.rmtree(place, ignore_errors=True)
    run("plateau", "run", "-q", "--no-report", "-o", place, "--", *command, code=code)
    return json.loads(subprocess.run(["plateau", "report", place, "--json", "-"], stdout=subprocess.PIPE, check=True).stdout.decode())


def lines_of(file, mark):
    with open(file) as text:
        return [number for number, line in enumerate(text, 1) if mark in line]


def line_of(file, mark):
    return lines_of(file, mark)[0]


def expect(what, found, wanted):
    if found != wanted:
        raise AssertionError("%s is %r, not %r" % (what, found, wanted))


def pip(*arguments):
    help_text = run(sys.executable, "-m", "pip", "install", "--help")
    return run(sys.executable, "-m", "pip", *arguments, *(["--break-system-packages"] if "--break-system-packages" in help_text else []))


def known_to_pip(wheel):
    """The wheel under a name that this system's pip knows: before 20.3 the tag manylinux_2_17 was called manylinux2014."""
    version = run(sys.executable, "-m", "pip", "--version").split()[1]
    if tuple(int(part) for part in version.split(".")[:2]) >= (20, 3):
        return wheel
    renamed = os.path.join(WORK, os.path.basename(wheel).replace("manylinux_2_17", "manylinux2014"))
    shutil.copy(wheel, renamed)
    print("pip %s gets the wheel as %s" % (version, os.path.basename(renamed)))
    return renamed


def apt(*packages):
    run("apt-get", "install", "-q", "-y", "--no-install-recommends", *packages)


def check_python():
    file = os.path.join(HERE, "leak.py")
    report = report_of("python", sys.executable, file)
    top = report["sites"][0]
    expect("verdict", report["verdict"], "leak")
    expect("line", (os.path.basename(top["file"]), top["line"], top["function"]), ("leak.py", line_of(file, "# THE LINE"), "keep"))
    return "leak, `leak.py:%d`" % top["line"]


def built(name, source, *flags):
    """A program of this folder: the one that was put there, or made by this system's compiler."""
    there = os.path.join(HERE, "built", name)
    if os.path.exists(there):
        return there
    program = os.path.join(WORK, name)
    apt("g++")
    run("g++", "-g", "-O1", "-fno-inline", *flags, os.path.join(HERE, source), "-o", program, "-ldl", "-pthread")
    return program


def check_native():
    source = os.path.join(HERE, "native.cc")
    report = report_of("native", built("native", "native.cc"))
    top = report["sites"][0]
    expect("verdict", report["verdict"], "leak")
    expect("site", (top["function"].split("(")[0], os.path.basename(top["file"]), top["line"]), ("Keep", "native.cc", line_of(source, "// THE LINE")))
    return "leak, `native.cc:%d`" % top["line"]


def check_threads():
    """Every recorded block has the whole path: from the thread's function through the opened library."""
    plugin = built("plugin.so", "plugin.cc", "-fno-optimize-sibling-calls", "-shared", "-fPIC")
    report = report_of("threads", built("native", "native.cc"), plugin)
    blocks = wrong = 0
    wanted = ["Innermost", "Middle", "PluginWork", "ThreadMain"]
    for site in report["sites"]:
        names = [frame["function"].split("(")[0] for frame in site["stack"]]
        if "Innermost" not in names and "[no module]" not in json.dumps(site) and "[no stack]" not in json.dumps(site):
            continue
        blocks += site["retained_count"]
        at = names.index("Innermost") if "Innermost" in names else 0
        if names[at:at + len(wanted)] != wanted:
            wrong += site["retained_count"]
            print("a stack that is not right: %s" % names)
    expect("blocks with a wrong stack", wrong, 0)
    expect("blocks", blocks, 4 * 50)
    return "%d of %d stacks right" % (blocks - wrong, blocks)


def check_killed():
    place = os.path.join(WORK, "killed")
    shutil.rmtree(place, ignore_errors=True)
    program = subprocess.Popen(["plateau", "run", "-q", "-o", place, "--", sys.executable, os.path.join(HERE, "leak.py"), "--until-killed"],
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    child = int(program.stdout.readline())
    os.kill(child, signal.SIGKILL)
    program.communicate()
    expect("exit code", program.returncode, 128 + signal.SIGKILL)
    report = json.loads(subprocess.run(["plateau", "report", place, "--json", "-"], stdout=subprocess.PIPE, check=True).stdout.decode())
    expect("verdict", report["verdict"], "leak")
    expect("steps", report["steps"]["count"], 150)
    return "leak, nothing lost"


def torch_of_this_system():
    """The interpreter's torch: the distribution's, else what pip has for it. None: there is neither."""
    try:
        return run(sys.executable, "-c", "import torch; print(torch.__version__)").split()[-1]
    except AssertionError:
        pass
    try:
        apt("python3-torch", "python3-numpy")
    except AssertionError:
        try:
            pip("install", "--quiet", "torch", "numpy")
        except AssertionError as error:
            print(str(error)[-500:])
            return None
    return run(sys.executable, "-c", "import torch; print(torch.__version__)").split()[-1]


def check_torch():
    version = torch_of_this_system()
    if version is None:
        return "neither packaged nor on the index for this Python"
    for example, mark, verdict in (("image_cache.py", "# HOLDS", "cache_fill"), ("batch_kept.py", "# LEAK", "leak")):
        file = os.path.join(HERE, "examples", example)
        report = report_of(example, sys.executable, file)
        expect("verdict of " + example, report["verdict"], verdict)
        top = next(site for site in report["sites"] if site["verdict"] == verdict)  # imports may hold more
        expect("file of " + example, os.path.basename(top["file"]), example)
        if top["line"] not in lines_of(file, mark):
            raise AssertionError("%s:%d is not a marked line" % (example, top["line"]))
    return "%s: cache_fill and leak, with their lines" % version


CHECKS = [("C++", check_native), ("Python", check_python), ("threads", check_threads), ("killed", check_killed), ("torch", check_torch)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--torch", default="yes", help="no: without torch, which may have to be downloaded")
    parser.add_argument("--python-only", action="store_true", help="nothing but the install and the leak with its line")
    arguments = parser.parse_args()
    shutil.rmtree(WORK, ignore_errors=True)
    os.makedirs(WORK)
    wheel = glob.glob(os.path.join(HERE, "*.whl"))[0]
    has_compiler = any(shutil.which(name) for name in ("gcc", "cc", "g++"))
    wheel = known_to_pip(wheel)
    started = time.monotonic()
    pip("install", "--quiet", "--force-reinstall", "--no-index", wheel)
    python_row = check_python()
    seconds = time.monotonic() - started
    print("pip install to verdict: %.1f s, %s" % (seconds, "no compiler here" if not has_compiler else "a compiler is installed"))
    if arguments.python_only:
        return
    doctor = run("plateau", "doctor", code=None)
    print("\n".join(line for line in doctor.splitlines() if re.match(r"(bad|limited|good +C library|good +Python)", line)))
    results = {"Python": python_row}
    failed = False
    for name, check in CHECKS:
        if name in results or (name == "torch" and arguments.torch == "no"):
            continue
        try:
            results[name] = check()
        except Exception as error:  # one that fails must not hide the others
            results[name] = "FAILED"
            failed = True
            print("%s: FAILED: %s" % (name, error))
        print("%s: %s" % (name, results[name]))
    with open("/etc/os-release") as text:
        system = dict(line.rstrip().split("=", 1) for line in text if "=" in line)
    title = system["PRETTY_NAME"].strip('"')
    libc = platform.libc_ver()[1]
    row = [title + ", glibc " + libc, platform.python_version(), "%.0f s" % seconds, results["C++"], results["Python"], results["threads"],
           results["killed"], results.get("torch", "not run")]
    with open(os.path.join(HERE, "row.md"), "w") as out:
        out.write("| %s |\n" % " | ".join(row))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
