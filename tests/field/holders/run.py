#!/usr/bin/env python3
"""Runs the programs with a known holder and compares what the walk names with what each expects.

    tests/field/holders/run.py --build build/release [--python /usr/bin/python3]... [--case NAME]... [--cuda LIBRARIES]

For each interpreter: a table of the cases, how many containers were named right, how many not at all, and how many wrong.
Wrong is a path that is not the expected one, and fails the run; so does less than 95 % right. With --cuda only those of
device_cases.py are run, with a CUDA build of torch on the null device: LIBRARIES is a folder that tests/field/null_cuda_libraries.py
has made for that torch.
"""
import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import array_cases  # noqa: E402,F401
import container_cases  # noqa: E402,F401
import function_cases  # noqa: E402,F401
import known  # noqa: E402
import library_cases  # noqa: E402,F401
import model_cases  # noqa: E402,F401
import native_cases  # noqa: E402,F401
import runtime_cases  # noqa: E402,F401
import structure_cases  # noqa: E402,F401
import task_cases  # noqa: E402,F401
import training_cases  # noqa: E402,F401


def fields(line):
    """A line of `plateau dump` as (values, segments)."""
    values, segments = {}, []
    for word in shlex.split(line):
        key, _, value = word.partition("=")
        if key == "in":
            kind, number, text = value.split(",", 2)
            segments.append((kind, int(number), text))
        else:
            values[key] = value
    return values, segments


def text_of(segments):
    """One path, in about the words of the card."""
    out = ""
    for kind, number, text in segments:
        if kind == "module":
            out += "" if text == "__main__" else text
        elif kind == "frame":
            out += text.split(".")[-1] + "()"
        elif kind in ("file", "weak_callback_of"):
            pass
        elif kind == "local":
            out += " " + text
        elif kind == "attribute" and number == 1 and not text:
            out += ".*"
        elif kind in ("global", "attribute", "slot", "type_dict"):
            out += "." + text if out else text
        elif kind == "key":
            out += "[*]" if number == 0 else f"['{text}']" if number in (1, 2) else f"[{text}]"
        elif kind == "key_itself":
            out += "<key>"
        elif kind == "index":
            out += "[*]" if number == 0 else f"[{number - 1}]"
        elif kind == "member":
            out += "{*}"
        elif kind == "cell":
            out += f".<closure {text}>"
        elif kind == "default":
            out += f".<default {text}>"
        elif kind == "generator":
            out += f".<generator {text.split('.')[-1]}>"
        elif kind == "traceback":
            out += ".<traceback>"
        elif kind == "context":
            out += f".<{text}>"
        elif kind == "self":
            out += ".<self>"
        elif kind == "buffer":
            out += f".<{text or 'buffer'}>"
        elif kind == "weak_callback":
            out += ".<weak callback>"
        elif kind == "context_var":
            out += f".<context {text}>"
        elif kind == "repeat":
            out += "+"
        elif kind == "interpreter":
            out += f"<{text}>"
        else:
            out += f".<{kind} {text}>"
    return out


def run(build, python, name, cuda=None):
    """(what was found: {text: share}, ends) of one case, or a reason why it did not run."""
    recording = tempfile.mkdtemp(prefix="holders-")
    environment = dict(os.environ, PLATEAU_OUT=recording, PLATEAU_HOLDERS="0",
                       LD_PRELOAD=os.path.join(build, "lib", "libplateau.so"))
    if cuda:
        environment.update(LD_LIBRARY_PATH=cuda, NULLDEVICE_STUBS="1",
                           LD_PRELOAD=environment["LD_PRELOAD"] + ":" + os.path.join(build, "lib", "libplateau_cuda.so"))
    try:
        program = known.CASES[name].__code__.co_filename
        done = subprocess.run([python, program, name], env=environment, capture_output=True, text=True, timeout=300)
        if "ModuleNotFoundError" in done.stderr:
            return None, "a package is missing"
        if done.returncode != 0:
            return None, f"ended with {done.returncode}: {done.stderr[-300:]}"
        dump = subprocess.run([os.path.join(build, "bin", "plateau"), "dump", recording], capture_output=True,
                              text=True, timeout=300).stdout
    finally:
        shutil.rmtree(recording, ignore_errors=True)
    found = {}
    for line in dump.splitlines():
        if not re.match(r"(@\d+ )?holder ", line):
            continue
        values, segments = fields(line)
        count = int(values["found"])
        if not known.SIZE * 0.6 <= int(values["bytes"]) / count <= known.SIZE * 3:
            continue
        end = values["end"]
        text = text_of(segments) if end in ("path", "graph", "native", "opaque") else end
        if end in ("native", "opaque"):
            text = end + ": " + text
        if end == "module_data":
            text = end + ": " + values["what"]
        key = (text, end)
        found[key] = found.get(key, 0) + count
    return found, None


def judge(name, found):
    """right, nothing or wrong, by the chain of most blocks."""
    expected = known.EXPECTED[name]
    if not found:
        return "nothing", "-"
    (text, end), _ = max(found.items(), key=lambda item: item[1])
    if re.fullmatch(expected, text) or re.fullmatch(expected, end):
        return "right", text
    return ("nothing" if end in ("not_found", "native", "native_block", "native_memory", "opaque") else "wrong"), text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--python", action="append")
    parser.add_argument("--case", action="append")
    parser.add_argument("--cuda")
    options = parser.parse_args()
    failed = False
    if options.cuda:
        known.CASES.clear()
        import device_cases  # noqa: F401
    for python in options.python or [sys.executable]:
        score = {"right": 0, "nothing": 0, "wrong": 0}
        print(f"== {python}")
        for name in options.case or known.CASES:
            found, reason = run(os.path.abspath(options.build), python, name, options.cuda)
            if found is None:
                print(f"  {'skipped':8} {name}: {reason}")
                failed |= "ended" in reason
                continue
            verdict, text = judge(name, found)
            score[verdict] += 1
            print(f"  {verdict:8} {name}: {text}")
        total = sum(score.values())
        print(f"  of {total}: {score['right']} right, {score['nothing']} not named, {score['wrong']} wrong")
        failed |= score["wrong"] > 0 or score["right"] < 0.95 * total
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
