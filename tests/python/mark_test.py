"""plateau_trace.mark with and without the recorder."""
import glob
import os
import subprocess
import sys
import tempfile
import unittest

BUILD, SOURCE = os.environ["PLATEAU_BUILD"], os.environ["PLATEAU_SOURCE"]
PACKAGE = os.path.join(SOURCE, "python")

PROGRAM = '''
from plateau_trace import mark
print(mark.recording())
assert mark.recording() or mark.holders() == -1
for i in range(3):
    mark.step()
mark.step("named")
mark.epoch()
mark.note("f\\u00fcr \\U0001f4a9 \\udcff")
with mark.phase("eval") as entered:
    assert isinstance(entered, mark.phase)
@mark.phase("decorated")
def f():
    return 7
assert f() == 7
try:
    with mark.phase("raises"):
        raise KeyError
except KeyError:
    print("raised")
'''


def run(**extra):
    env = dict(os.environ, PYTHONPATH=PACKAGE, PYTHONDONTWRITEBYTECODE="1", **extra)
    return subprocess.run([sys.executable, "-c", PROGRAM], env=env, stdout=subprocess.PIPE, check=True).stdout.decode()


class MarkTest(unittest.TestCase):
    def test_without_the_recorder_everything_does_nothing(self):
        self.assertEqual(run(), "False\nraised\n")

    def test_marks_arrive_in_the_recording(self):
        with tempfile.TemporaryDirectory() as folder:
            out = run(LD_PRELOAD=os.path.join(BUILD, "lib", "libplateau.so"), PLATEAU_OUT=folder + "/r")
            self.assertEqual(out, "True\nraised\n")
            trace, = glob.glob(folder + "/r/*")
            dump = subprocess.run([os.path.join(BUILD, "bin", "plateau"), "dump", trace], stdout=subprocess.PIPE,
                                  check=True).stdout.decode(errors="replace")
        # The recorder's own note of the interpreter's end is beside them.
        marks = [line for line in dump.splitlines() if " mark " in " " + line and "source=explicit" in line]
        self.assertEqual(len(marks), 3 + 1 + 1 + 1 + 6, dump[:2000])
        self.assertTrue(any("named" in line for line in marks))
        self.assertEqual(sum("eval" in line for line in marks), 2)

    def test_the_file_needs_nothing_else(self):
        with open(os.path.join(PACKAGE, "plateau_trace", "mark.py")) as source:
            scope = {}
            exec(compile(source.read(), "mark.py", "exec"), scope)
        scope["step"]()
        self.assertFalse(scope["recording"]())


if __name__ == "__main__":
    unittest.main()
