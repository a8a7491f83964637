"""The runtime_env of plateau_trace.ray, without Ray: what it adds, and what it leaves as it was."""
import os
import tempfile
import unittest

os.environ["PLATEAU_BIN"] = os.path.join(os.environ["PLATEAU_BUILD"], "bin", "plateau")
import sys

sys.path.insert(0, os.path.join(os.environ["PLATEAU_SOURCE"], "python"))
from plateau_trace.ray import runtime_env  # noqa: E402


class RuntimeEnvTest(unittest.TestCase):
    def test_workers_load_the_library_and_know_where_to_write(self):
        env = runtime_env("/data/%j/%h")
        self.assertTrue(env["env_vars"]["LD_PRELOAD"].endswith("/lib/libplateau.so"))
        self.assertTrue(os.path.exists(env["env_vars"]["LD_PRELOAD"]))
        self.assertEqual(env["env_vars"]["PLATEAU_OUT"], "/data/%j/%h")
        self.assertIn("plateau_site", env["env_vars"]["PYTHONPATH"])

    def test_what_the_user_wants_stays(self):
        env = runtime_env("/data", env_vars={"LD_PRELOAD": "/lib/other.so", "X": "1"}, pip=["numpy"], worker_process_setup_hook="mine.setup")
        self.assertTrue(env["env_vars"]["LD_PRELOAD"].endswith("libplateau.so:/lib/other.so"))
        self.assertEqual((env["env_vars"]["X"], env["pip"], env["worker_process_setup_hook"]), ("1", ["numpy"], "mine.setup"))

    def test_a_relative_directory_is_pinned_to_where_the_driver_runs(self):
        self.assertEqual(runtime_env("rec")["env_vars"]["PLATEAU_OUT"], os.path.abspath("rec"))

    def test_without_the_library_nothing_is_switched_on(self):
        with tempfile.TemporaryDirectory() as folder:
            fake = os.path.join(folder, "plateau")
            with open(fake, "w") as file:
                file.write("#!/bin/sh\n")
            os.chmod(fake, 0o755)
            before, os.environ["PLATEAU_BIN"] = os.environ["PLATEAU_BIN"], fake
            try:
                self.assertEqual(runtime_env("/data", env_vars={"X": "1"}), {"env_vars": {"X": "1"}})
            finally:
                os.environ["PLATEAU_BIN"] = before


if __name__ == "__main__":
    unittest.main()
