"""Native programs: `native_third.py KIND` compiles native_third.cc and becomes the program."""
import os
import pathlib
import subprocess
import sys
import tempfile

source = pathlib.Path(__file__).with_suffix(".cc")
folder = pathlib.Path(tempfile.mkdtemp(prefix="native-third-"))
subprocess.run(["c++", "-O1", "-g", "-pthread", source, "-o", folder / "program"], check=True)
os.execv(folder / "program", [str(folder / "program"), sys.argv[1]])
