#!/usr/bin/env python3
"""Plateau's numbers in the logs of real frameworks, read back by the programs that show them.

    pip install torch transformers accelerate lightning tensorboard mlflow-skinny wandb     # and, elsewhere, tensorflow and keras
    PLATEAU=build/release/bin/plateau python tests/field/training_logs.py [trainer] [lightning] [accelerate] [keras]

Each framework trains a small model that leaks, recorded by Plateau, with its real loggers (TensorBoard, MLflow, Weights & Biases offline); then the
logs are read with TensorBoard's reader, MLflow's client and W&B's reader. A framework that is not installed is said and skipped.
"""
import glob
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PLATEAU = os.path.abspath(os.environ.get("PLATEAU", SOURCE / "build/ci/bin/plateau"))

MODEL = r"""
import os, sys, time
sys.path.insert(0, os.environ["PLATEAU_SOURCE"] + "/python")
import torch
KEPT = []
class Data(torch.utils.data.Dataset):
    def __len__(self): return 128
    def __getitem__(self, i): return {"x": torch.full((8,), float(i)), "labels": torch.tensor(float(i))}
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 1)
    def forward(self, x, labels=None):
        KEPT.append(torch.zeros(60000))  # THE LEAK: 234 KiB a step
        time.sleep(0.02)
        out = self.layer(x).squeeze(-1)
        return {"loss": ((out - labels) ** 2).mean(), "logits": out}
"""
PROGRAMS = {
    "trainer": MODEL + r"""
from transformers import Trainer, TrainingArguments
from plateau_trace.trainer_callback import PlateauCallback
reports = [r for r in ("tensorboard", "mlflow", "wandb") if r in os.environ["REPORT_TO"].split(",")]
arguments = TrainingArguments("out", per_device_train_batch_size=8, max_steps=300, logging_steps=10, report_to=reports, save_strategy="no", use_cpu=True, disable_tqdm=True)
trainer = Trainer(Net(), arguments, train_dataset=Data(), callbacks=[PlateauCallback(interval=1)])
trainer.train()
assert "plateau/live_mib" in trainer.state.log_history[-1], trainer.state.log_history[-1]
""",
    "lightning": MODEL + r"""
import lightning.pytorch as L
from lightning.pytorch.loggers import TensorBoardLogger
from plateau_trace.integrations import LightningCallback
class Module(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = Net()
    def training_step(self, batch, index): return self.net(**batch)["loss"]
    def configure_optimizers(self): return torch.optim.SGD(self.parameters(), 1e-9)
L.Trainer(max_steps=300, max_epochs=-1, logger=TensorBoardLogger("out"), callbacks=[LightningCallback(interval=1)], enable_checkpointing=False, accelerator="cpu",
          enable_progress_bar=False).fit(Module(), torch.utils.data.DataLoader(Data(), 8))
""",
    "accelerate": MODEL + r"""
from accelerate import Accelerator
from plateau_trace.integrations import AccelerateLog
accelerator = Accelerator(log_with="tensorboard", project_dir="out", cpu=True)
accelerator.init_trackers("run")
net, loader = Net(), torch.utils.data.DataLoader(Data(), 8)
net, optimizer, loader = accelerator.prepare(net, torch.optim.SGD(net.parameters(), 1e-9), loader)
tracking, step = AccelerateLog(accelerator, interval=1), 0
while step < 300:
    for batch in loader:
        accelerator.backward(net(**batch)["loss"]); optimizer.step(); optimizer.zero_grad(); step += 1
        tracking.step(step)
tracking.end(step)
accelerator.end_training()
""",
    "keras": r"""
import os, sys
sys.path.insert(0, os.environ["PLATEAU_SOURCE"] + "/python")
import numpy, keras
from plateau_trace.integrations import KerasCallback
KEPT = []
class Leak(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None): KEPT.append(numpy.ones(60000))
model = keras.Sequential([keras.layers.Input((8,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
history = model.fit(numpy.zeros((512, 8)), numpy.zeros(512), batch_size=16, epochs=6, verbose=0, callbacks=[Leak(), KerasCallback(interval=1), keras.callbacks.TensorBoard("out")])
assert history.history["plateau/live_mib"][-1] > 10, history.history
""",
}


def installed(name):
    return importlib.util.find_spec(name) is not None


def of_tensorboard(folder):
    """{tag: last value} of every event file below the folder. Keras writes tensors, the others scalars."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.util import tensor_util

    found = {}
    for path in glob.glob(f"{folder}/**/events.out.tfevents.*", recursive=True):
        events = EventAccumulator(path)
        events.Reload()
        for tag in events.Tags()["scalars"]:
            found[tag] = events.Scalars(tag)[-1].value
        for tag in events.Tags()["tensors"]:
            try:
                found[tag] = float(tensor_util.make_ndarray(events.Tensors(tag)[-1].tensor_proto))
            except (TypeError, ValueError):
                pass
    return found


def of_mlflow(folder):
    os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
    from mlflow.tracking import MlflowClient

    client = MlflowClient(f"file:{folder}/mlruns")
    runs = client.search_runs([e.experiment_id for e in client.search_experiments()])
    return {key: value for run in runs for key, value in run.data.metrics.items()}


def records_of_wandb(path):
    """The records of an offline run: LevelDB's log format behind a header of seven bytes, pieces of at most 32 KiB."""
    data, block = pathlib.Path(path).read_bytes(), 32768
    assert data[:4] == b":W&B", data[:4]
    at, record = 7, b""
    while at + 7 <= len(data):
        room = block - at % block
        if room < 7:
            at += room
            continue
        length, kind = int.from_bytes(data[at + 4:at + 6], "little"), data[at + 6]
        record += data[at + 7:at + 7 + length]
        at += 7 + length
        if kind in (1, 4):  # whole, or the last piece
            yield record
            record = b""


def of_wandb(folder):
    """The last value of each key in the offline run."""
    from wandb.proto import wandb_internal_pb2

    found = {}
    for path in glob.glob(f"{folder}/wandb/offline-run-*/run-*.wandb"):
        for data in records_of_wandb(path):
            record = wandb_internal_pb2.Record()
            record.ParseFromString(data)
            for item in record.history.item:
                key = item.key or "/".join(item.nested_key)
                try:
                    found[key] = float(item.value_json)
                except ValueError:
                    pass
    return found


def check(where, values, prefix=""):
    mine = {key.split("plateau/")[-1]: value for key, value in values.items() if "plateau/" in key}
    for key in ("live_mib", "rss_mib", "growth_kib_per_step", "severity"):
        assert key in mine, f"{where}: {key} is not in {sorted(values)}"
    assert mine["live_mib"] > 10 and mine["rss_mib"] > mine["live_mib"] / 2, (where, mine)
    print(f"    {where}: " + ", ".join(f"{key} {value:.4g}" for key, value in sorted(mine.items())))


def main():
    names = sys.argv[1:] or list(PROGRAMS)
    needs = {"trainer": "transformers", "lightning": "lightning", "accelerate": "accelerate", "keras": "keras"}
    for name in names:
        if not installed(needs[name]):
            print(f"{name}: skipped, {needs[name]} is not installed")
            continue
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "train.py").write_text(PROGRAMS[name])
            reports = [part for part in ("tensorboard", "mlflow", "wandb") if installed(part)]
            environment = dict(os.environ, PLATEAU_SOURCE=str(SOURCE), PLATEAU_BIN=PLATEAU, REPORT_TO=",".join(reports), WANDB_MODE="offline", WANDB_DIR=folder,
                               WANDB_SILENT="true", MLFLOW_TRACKING_URI=f"file:{folder}/mlruns", MLFLOW_ALLOW_FILE_STORE="true", CUDA_VISIBLE_DEVICES="", KERAS_BACKEND=os.environ.get("KERAS_BACKEND", "tensorflow"))
            done = subprocess.run([PLATEAU, "run", "-q", "--no-report", "-o", "rec", "--", sys.executable, "train.py"], cwd=folder, env=environment, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr[-3000:]
            print(f"{name}:")
            check("TensorBoard", of_tensorboard(folder))
            if name == "trainer" and "mlflow" in reports:
                check("MLflow", of_mlflow(folder))
            if name == "trainer" and "wandb" in reports:
                check("Weights & Biases", of_wandb(folder))


if __name__ == "__main__":
    main()
