"""A walk for holders leaves the program as it is, on every interpreter of the machine: guest_test.py NAME"""
import os
import re
import subprocess
import sys
import tempfile

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
    "steps": "70",
}


def dump(folder):
    return subprocess.run([os.path.join(BUILD, "bin", "plateau"), "dump", folder], stdout=subprocess.PIPE, timeout=300,
                          universal_newlines=True).stdout


def check(python, name):
    with tempfile.TemporaryDirectory() as folder:
        recording = os.path.join(folder, "recording")
        env = dict(os.environ, LD_PRELOAD=os.path.join(BUILD, "lib", "libplateau.so"), PLATEAU_OUT=recording,
                   PLATEAU_HOLDERS="1", PYTHONDONTWRITEBYTECODE="1")
        done = subprocess.run([python, os.path.join(HERE, "guest_programs.py"), name], env=env, timeout=300,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
        text = dump(recording)
    walks = re.findall(r"^(?:@\d+ )?holder_walk .*", text, re.M)
    print(interpreters.label(python), done.returncode, done.stdout.strip(), done.stderr.strip()[-300:], len(walks), "walks")
    if "not looked for on CPython" in text:
        return not walks
    if name == "steps":
        return done.stdout.strip() == OUTPUTS[name] and any(" reason=steps " in walk for walk in walks)
    # What asks during a collection or after the end may be told that there was no walk.
    return done.returncode == 0 and done.stdout.strip() == OUTPUTS[name] and bool(walks)


def main():
    name = sys.argv[1]
    results = [check(python, name) for python in interpreters.find()]
    return 0 if all(results) and results else 1


if __name__ == "__main__":
    sys.exit(main())
