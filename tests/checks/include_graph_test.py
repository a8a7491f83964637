"""The include check notices what it is for: made-up trees with one mistake each."""

import os
import subprocess
import sys
import tempfile
import unittest

CHECK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "include_graph.py")


class IncludeGraphTest(unittest.TestCase):
    def problems(self, files):
        """The lines about the folders of `files` (path -> text) that the check prints."""
        with tempfile.TemporaryDirectory() as tree:
            for path, text in files.items():
                os.makedirs(os.path.join(tree, os.path.dirname(path)), exist_ok=True)
                with open(os.path.join(tree, path), "w", encoding="utf-8") as file:
                    file.write(text)
            run = subprocess.run([sys.executable, CHECK], env={**os.environ, "PLATEAU_SOURCE": tree},
                                 capture_output=True, text=True, check=False)
            self.assertEqual(run.returncode, 1, run.stderr)
            return run.stdout

    def test_a_folder_without_a_row(self):
        self.assertIn("preload/attic has no row", self.problems({"preload/attic/old.h": "\n"}))

    def test_an_include_against_the_direction(self):
        found = self.problems({"preload/recorder/tracer.cc": '#include "preload/python/start.h"\n'})
        self.assertIn("preload/recorder/tracer.cc:1: preload/recorder does not build on preload/python", found)

    def test_a_cycle(self):
        found = self.problems({"preload/base/a.h": '#include "preload/trace/b.h"\n',
                               "preload/trace/b.h": '#include "preload/base/a.h"\n'})
        self.assertIn("in a cycle: preload/base -> preload/trace -> preload/base", found)

    def test_an_overfull_folder(self):
        found = self.problems({f"preload/trace/f{i}.h": "\n" for i in range(36)})
        self.assertIn("preload/trace has 36 files, more than 35", found)

    def test_a_heavy_library_in_the_shim(self):
        found = self.problems({"preload/base/a.h": "#include <absl/strings/str_cat.h>\n"})
        self.assertIn("preload/base/a.h:1: #include <absl/strings/str_cat.h> stays out", found)

    def test_the_graph_is_printed_bottom_up(self):
        run = subprocess.run([sys.executable, CHECK, "--print"], capture_output=True, text=True, check=True)
        folders = [line.split()[0] for line in run.stdout.splitlines()[1:]]
        self.assertLess(folders.index("preload/recorder"), folders.index("preload/python"))
        self.assertLess(folders.index("preload/python"), folders.index("preload/hooks"))


if __name__ == "__main__":
    unittest.main()
