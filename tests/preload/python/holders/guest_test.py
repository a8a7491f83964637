"""A walk for holders leaves the program as it is, on every interpreter of the machine: guest_test.py NAME"""
import os
import re
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import interpreters  # noqa: E402

BUILD = os.environ["PLATEAU_BUILD"]
OUTPUTS = {
    "reference_counts": "True True []",
    "forked": "0",
    "importing": "True",
    "threads": "10 True",
    "at_the_end": "ends",
    "inside_collection": "20 True",
    "steps": "True",
}


def dump(folder):
    return subprocess.run([os.path.join(BUILD, "bin", "plateau"), "dump", folder], stdout=subprocess.PIPE, timeout=300,
                          universal_newlines=True).stdout


def check(python, name):
    with tempfile.TemporaryDirectory() as folder:
        recording = os.path.join(folder, "recording")
        env = dict(os.environ, LD_PRELOAD=os.path.join(BUILD, "lib", "libplateau.so"), PLATEAU_OUT=recording,
                   PLATEAU_HOLDERS="1", PYTHONDONTWRITEBYTECODE="1")
        stop = os.path.join(folder, "stop")
        program = subprocess.Popen([python, os.path.join(HERE, "guest_programs.py"), name, stop], env=env,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
        for _ in range(240 if name == "steps" else 0):
            time.sleep(0.5)
            if re.search(r"holder_walk .* reason=steps |not looked for on CPython", dump(recording)):
                break
        with open(stop, "w"):
            pass
        out, errors = program.communicate(timeout=300)
        text = dump(recording)
    walks = re.findall(r"^(?:@\d+ )?holder_walk .*", text, re.M)
    print(interpreters.label(python), program.returncode, out.strip(), errors.strip()[-300:], len(walks), "walks")
    if "not looked for on CPython" in text:
        return not walks
    if name == "steps":
        return out.strip() == OUTPUTS[name] and any(" reason=steps " in walk for walk in walks)
    # What asks during a collection or after the end may be told that there was no walk.
    return program.returncode == 0 and out.strip() == OUTPUTS[name] and bool(walks)


def main():
    name = sys.argv[1]
    results = [check(python, name) for python in interpreters.find()]
    return 0 if all(results) and results else 1


if __name__ == "__main__":
    sys.exit(main())
