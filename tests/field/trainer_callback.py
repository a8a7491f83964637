#!/usr/bin/env python3
"""PlateauCallback in a real Hugging Face Trainer: its steps, epochs and evaluations are those of the report.

    tests/field/trainer_callback.py PYTHON

PYTHON is an interpreter with torch, transformers and accelerate, for instance of a virtual environment. A tiny model with random weights
is trained; nothing is downloaded. PLATEAU_BUILD and PLATEAU_SOURCE name the folders.
"""
import json
import os
import subprocess
import sys
import tempfile

BUILD = os.environ["PLATEAU_BUILD"]
PLATEAU = os.path.join(BUILD, "bin/plateau")

SCRIPT = '''
import json, sys, torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments
from plateau_trace.trainer_callback import PlateauCallback

class Examples(torch.utils.data.Dataset):
    def __init__(self, count):
        self.count = count
    def __len__(self):
        return self.count
    def __getitem__(self, i):
        return {"input_ids": torch.full((16,), i % 100), "attention_mask": torch.ones(16, dtype=torch.long), "labels": torch.tensor(i % 2)}

torch.manual_seed(0)
model = BertForSequenceClassification(BertConfig(hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64,
                                                 vocab_size=100, max_position_embeddings=32))
arguments = TrainingArguments(output_dir=sys.argv[1], per_device_train_batch_size=4, gradient_accumulation_steps=2, num_train_epochs=3,
                              eval_strategy="epoch", save_strategy="no", report_to=[], logging_strategy="no", disable_tqdm=True, use_cpu=True)
trainer = Trainer(model=model, args=arguments, train_dataset=Examples(160), eval_dataset=Examples(32), callbacks=[PlateauCallback()])
trainer.train()
print(json.dumps({"steps": trainer.state.global_step, "epochs": 3, "evaluations": 3}))
'''


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        script, recording = os.path.join(folder, "train.py"), os.path.join(folder, "rec")
        with open(script, "w") as out:
            out.write(SCRIPT)
        environment = dict(os.environ, PYTHONPATH=os.path.join(BUILD, "lib/plateau/python"), HF_HUB_OFFLINE="1")
        done = subprocess.run([PLATEAU, "run", "-o", recording, "--", sys.argv[1], script, os.path.join(folder, "out")], env=environment,
                              stdout=subprocess.PIPE, text=True)
        assert done.returncode == 0, done.returncode
        truth = json.loads(done.stdout.splitlines()[-1])
        report = json.loads(subprocess.run([PLATEAU, "report", recording, "--json", "-"], stdout=subprocess.PIPE, check=True).stdout)
    steps = report["steps"]
    found = {"steps": steps["count"], "epochs": steps["epochs"], "evaluations": steps["evaluations"]}
    assert steps["source"] == "explicit", steps["source"]
    assert found == truth, f"the report has {found}, the Trainer {truth}"
    print("ok", found, report["verdict"])


if __name__ == "__main__":
    main()
