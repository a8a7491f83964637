#!/usr/bin/env python3
"""Live tensors by step must be what the program itself counts with gc, step by step; batches of DataLoader workers must show
as shared memory.

    PLATEAU_BUILD=build/dev PLATEAU_SOURCE=. tensors_test.py [-k NAME]
"""
import json
import os
import tempfile
import unittest

from plateau_cli import PYTHON, line_of, plateau, report_json, report_text, skip_unless

# Keeps one activation per step, and one more object per step that is no tensor. Counts storages, not tensors: views share one.
COUNTS = """
import gc, json, sys, torch
torch.manual_seed(1)
model = torch.nn.Sequential(torch.nn.Linear(64, 96), torch.nn.ReLU(), torch.nn.Linear(96, 8))
optimizer = torch.optim.Adam(model.parameters())
kept, noise, log = [], [], []
def storages():
    gc.collect()
    found = {}
    for o in gc.get_objects():
        if isinstance(o, torch.Tensor):
            s = o.storage()
            if s.nbytes(): found[s.data_ptr()] = s.nbytes()
    return len(found), sum(found.values())
for step in range(STEPS):
    x = torch.randn(SIZE, 64)
    loss = model(x).square().mean()
    loss.backward()
    kept.append(x * 2)          # THE LINE
    noise.append(bytearray(20000))
    if step % 5 == 4: del kept[0]
    del loss
    optimizer.step()
    log.append(storages())
    optimizer.zero_grad(set_to_none=False)
print(json.dumps(log))
"""

SHARED = """
import json, torch
class Data(torch.utils.data.Dataset):
    def __len__(self): return 24
    def __getitem__(self, i): return torch.full((64, 1024), float(i))
model = torch.nn.Linear(1024, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
kept = []
for x in torch.utils.data.DataLoader(Data(), batch_size=2, num_workers=2):
    model(x).mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    kept.append(x)              # THE LINE
assert all(x.is_shared() for x in kept)
print(json.dumps([len(kept), sum(x.numel() * 4 for x in kept)]))
"""


def record(text, *options):
    """Runs the program under Plateau: (what it printed, the report)."""
    with tempfile.TemporaryDirectory() as folder:
        program, recording = os.path.join(folder, "program.py"), os.path.join(folder, "recording")
        with open(program, "w") as file:
            file.write(text)
        printed = plateau("run", "--quiet", f"--out={recording}", *options, "--", PYTHON, program, text=True, timeout=300)
        return json.loads(printed.splitlines()[-1]), report_json(recording), report_text(recording)


class TensorsTest(unittest.TestCase):
    def check(self, size, *options):
        text = COUNTS.replace("STEPS", "40").replace("SIZE", str(size))
        log, report, shown = record(text, *options)
        self.assertEqual(report["steps"]["count"], 40)
        host, = [curve for curve in report["tensors"] if curve["pool"] == "host"]
        self.assertEqual(report["axis"]["steps"], list(range(41)))
        found = list(zip(host["live_count"], host["live_bytes"]))[1:]
        # What torch itself holds from the import on is no object of the program: one constant.
        others = {(f[0] - l[0], f[1] - l[1]) for f, l in zip(found, log)}
        self.assertEqual(len(others), 1, (found, log))
        self.assertLess(others.pop()[0], 3)
        self.assertIn("Live tensors", shown)
        return log, report

    def test_exact_mode_counts_what_gc_counts_at_every_step(self):
        log, report = self.check(16, "--exact")
        site, = [s for s in report["sites"] if s["line"] == line_of(COUNTS) and s["pool"] == "host" and s["tensor_count"]]
        kept = [i + 1 - (i + 1) // 5 for i in range(40)]
        self.assertEqual(site["tensor_live_count"][1:], kept)
        self.assertEqual(site["tensor_live_bytes"][1:], [n * 16 * 64 * 4 for n in kept])
        self.assertEqual((site["tensor_count"], site["tensor_bytes"]), (kept[-1], kept[-1] * 16 * 64 * 4))
        # Every tensor of every site is one of the whole.
        host = report["tensors"][0]
        for step in range(41):
            self.assertEqual(sum(s["tensor_live_count"][step] for s in report["sites"] if s["tensor_live_count"]),
                             host["live_count"][step], step)

    def test_default_mode_is_exact_for_large_tensors(self):
        text = COUNTS.replace("STEPS", "40").replace("SIZE", "128")
        _, report, _ = record(text)
        site, = [s for s in report["sites"] if s["line"] == line_of(COUNTS) and s["pool"] == "host" and s["tensor_count"]]
        self.assertEqual(site["tensor_live_count"][1:], [i + 1 - (i + 1) // 5 for i in range(40)])

    def test_the_cuda_part_changes_nothing_in_a_cpu_program(self):
        text = COUNTS.replace("STEPS", "12").replace("SIZE", "64")
        text += 'print(json.dumps([log, [float(p.sum()) for p in model.parameters()]]))\n'
        (log, values), with_one, _ = record(text, "--exact", "--no-cuda")
        (log_of_both, values_of_both), with_both, _ = record(text, "--exact", "--cuda")
        self.assertEqual(log_of_both, log)
        self.assertEqual(values_of_both, values, "the same numbers to the last bit")
        self.assertEqual(with_both["tensors"], with_one["tensors"])
        for key in ("count", "epochs", "evaluations"):
            self.assertEqual(with_both["steps"][key], with_one["steps"][key])
        self.assertEqual((with_both["devices"], with_both["drops"]["events"]), ([], 0))

    def test_batches_of_workers_are_shared_memory(self):
        (count, held), report, _ = record(SHARED, "--exact")
        shared = [s for s in report["sites"] if s["pool"] == "shared" and s["retained_bytes"] > 0]
        self.assertTrue(shared, "no shared memory in the report")
        main = report["processes"][0]
        of_main = sum(share["retained_bytes"] for s in shared for share in s["processes"] if share["name"].startswith(f"{main['pid']} "))
        self.assertGreaterEqual(of_main, held)
        self.assertLessEqual(of_main, held + count * 8192)


if __name__ == "__main__":
    skip_unless(torch=True)
    unittest.main()
