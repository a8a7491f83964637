#!/usr/bin/env python3
"""A real Hugging Face Trainer that leaks saves a checkpoint when `plateau run --stop-before-oom` asks for it, and goes on from there.

    PLATEAU=build/release/bin/plateau tests/field/trainer_checkpoint.py PYTHON

PYTHON is an interpreter with torch, transformers and accelerate. A tiny model with random weights is trained; nothing is downloaded.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PLATEAU = os.path.abspath(os.environ.get("PLATEAU", SOURCE / "build/ci/bin/plateau"))

SCRIPT = '''
import json, sys, torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainerCallback, TrainingArguments
from plateau_trace.trainer_callback import PlateauCallback

class Examples(torch.utils.data.Dataset):
    def __len__(self): return 100000
    def __getitem__(self, i):
        return {"input_ids": torch.full((16,), i % 100), "attention_mask": torch.ones(16, dtype=torch.long), "labels": torch.tensor(i % 2)}

class Leak(TrainerCallback):
    kept = []
    def on_step_end(self, *args, **kwargs): self.kept.append(torch.ones(2_000_000))  # THE LEAK: 7.6 MiB a step

model = BertForSequenceClassification(BertConfig(hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64, vocab_size=100,
                                                 max_position_embeddings=32))
resume = sys.argv[2] == "resume"
# A resumed run trains a few steps more than the first and does not leak.
arguments = TrainingArguments(output_dir=sys.argv[1], per_device_train_batch_size=4, max_steps=int(sys.argv[3]), save_strategy="no", report_to=[],
                              logging_strategy="no", disable_tqdm=True, use_cpu=True)
trainer = Trainer(model=model, args=arguments, train_dataset=Examples(), callbacks=[PlateauCallback(save_on_usr1=True)] + ([] if resume else [Leak()]))
trainer.train(resume_from_checkpoint=resume or None)
print(json.dumps({"steps": trainer.state.global_step}))
'''


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "train.py").write_text(SCRIPT)
        environment = dict(os.environ, PYTHONPATH=str(SOURCE / "python"), HF_HUB_OFFLINE="1", CUDA_VISIBLE_DEVICES="")
        program = [sys.argv[1], folder / "train.py", folder / "out"]
        done = subprocess.run([PLATEAU, "run", "--no-report", "-o", folder / "rec", "--stop-before-oom", "1500MiB", "--grace", "120", "--", *program, "train", "5000"],
                              env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-2000:]
        assert "SIGUSR1 sent to 1 process" in done.stderr, done.stderr
        saved = json.loads(done.stdout.splitlines()[-1])["steps"]
        assert 20 < saved < 5000, saved
        assert (folder / f"out/checkpoint-{saved}").is_dir(), os.listdir(folder / "out")
        ending = json.loads(subprocess.run([PLATEAU, "report", folder / "rec", "--json", "-"], capture_output=True, check=True).stdout)["recording"]["ending"]
        again = subprocess.run([*program, "resume", str(saved + 5)], env=environment, capture_output=True, text=True)
        assert again.returncode == 0, again.stderr[-2000:]
        assert json.loads(again.stdout.splitlines()[-1])["steps"] == saved + 5, again.stdout
    print(f"ok: checkpoint at step {saved}, resumed from there; the report's ending: {ending}")


if __name__ == "__main__":
    main()
