"""Programs around torch as people report them: `torch_programs.py KIND`."""
import collections
import copy
import functools
import gc
import io
import os
import random
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset

torch.set_num_threads(1)
torch.manual_seed(0)
random.seed(0)
model = torch.nn.Sequential(torch.nn.Linear(128, 128), torch.nn.ReLU(), torch.nn.Linear(128, 8))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)


def learn(x, y):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    return loss


def batches(examples=960, batch=16, epochs=4, data=None, **options):
    data = data or TensorDataset(torch.randn(examples, 128), torch.randint(8, (examples,)))
    loader = DataLoader(data, batch_size=batch, shuffle=True, **options)
    for epoch in range(epochs):
        for number, (x, y) in enumerate(loader):
            yield epoch, number, x, y


def hook_features():
    kept = collections.defaultdict(list)

    def keep(module, inputs, output):
        kept["hidden"].append(output.relu())  # HERE
    model[0].register_forward_hook(keep)
    for _, _, x, y in batches():
        learn(x, y)


def metric_never_reset():
    from torchmetrics import CatMetric
    metric = CatMetric()
    for _, _, x, y in batches(epochs=5):
        loss = learn(x, y)
        metric.update(model(x).detach().softmax(-1).repeat(1, 16))  # HERE


def gradients_logged():
    history = []
    for epoch, number, x, y in batches(epochs=6):
        learn(x, y)
        if number % 5 == 0:
            history.append([p.grad.clone() for p in model.parameters()])  # HERE


def sum_within_epoch():
    total, last = 0, -1
    for epoch, number, x, y in batches(epochs=6):
        if epoch != last:
            total, last = 0, epoch
        loss = learn(x, y)
        total = total + torch.nn.functional.cross_entropy(model(x), y)


def tokenize_cached():
    texts = [f"text number {i} " * 30 for i in range(640)]

    @functools.lru_cache(maxsize=None)
    def encode(index):
        return np.frombuffer(texts[index].encode(), dtype=np.uint8)[:300].astype(np.float64).repeat(8)  # HERE

    class Texts(Dataset):
        def __len__(self):
            return len(texts)

        def __getitem__(self, index):
            return torch.from_numpy(encode(index)[:128].astype(np.float32)), index % 8
    for _, _, x, y in batches(data=Texts(), epochs=5):
        learn(x, y)


def cache_unique_keys():
    @functools.lru_cache(maxsize=None)
    def weights(moment):
        return np.full(3_000, moment)  # HERE
    for epoch, number, x, y in batches(epochs=6):
        weights(random.random())
        learn(x, y)


class KeepingSet(Dataset):
    def __init__(self, bounded):
        self.bounded, self.seen = bounded, {} if bounded else []

    def __len__(self):
        return 640

    def __getitem__(self, index):
        if self.bounded:
            if index not in self.seen:
                self.seen[index] = np.random.rand(2_000)  # FILL
            row = self.seen[index]
        else:
            row = np.random.rand(2_000)
            self.seen.append({"index": index, "note": "seen %d" % index, "row": row[:400].tolist()})  # HERE
        return torch.from_numpy(row[:128].astype(np.float32)), index % 8


def worker_notes():
    for _, _, x, y in batches(data=KeepingSet(False), epochs=6, num_workers=2, persistent_workers=True):
        learn(x, y)


def worker_cache():
    for _, _, x, y in batches(data=KeepingSet(True), epochs=6, num_workers=2, persistent_workers=True):
        learn(x, y)


def states_of_epochs():
    states, last = [], 0
    for epoch, _, x, y in batches(epochs=9, examples=480):
        if epoch != last:
            states.append(copy.deepcopy(model.state_dict()))  # HERE
            states.append(copy.deepcopy(optimizer.state_dict()))  # HERE
            last = epoch
        learn(x, y)


def small_among_large():
    kept = []
    for _, _, x, y in batches(epochs=6):
        rows = [b"x" * random.randrange(2_000, 60_000) for _ in range(40)]
        kept += [bytes(row[:random.randrange(40, 400)]) for row in rows]  # HERE
        del rows
        learn(x, y)


class Node:
    pass


def cycles(collected):
    if not collected:
        gc.disable()
    for _, _, x, y in batches(epochs=6):
        node = Node()
        node.self = node
        node.value = x.repeat(4, 1)  # HERE
        learn(x, y)


def cycles_never_collected():
    cycles(False)


def cycles_collected():
    cycles(True)


def trace_each_step():
    for _, _, x, y in batches(epochs=3, examples=640):
        torch.jit.trace(model, x)  # HERE
        learn(x, y)


def futures_kept():
    pool, futures = ThreadPoolExecutor(3), []

    def prepare(x):
        return (x * 2).repeat(2, 1)  # WORK
    for _, _, x, y in batches(epochs=4):
        futures.append(pool.submit(prepare, x))  # WORK
        learn(x, y)


def checkpoints_in_memory():
    kept = []
    for epoch, number, x, y in batches(epochs=5):
        learn(x, y)
        if number % 20 == 19:
            buffer = io.BytesIO()
            torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, buffer)  # HERE
            kept.append(buffer.getvalue())  # HERE


def batch_size_grows():
    for size in (16, 32, 64):
        for _, _, x, y in batches(batch=size, epochs=4, examples=1280):
            learn(x, y)


def accumulate_losses():
    for epoch, number, x, y in batches(epochs=6):
        if number % 6 == 0:
            losses = []
        losses.append(torch.nn.functional.cross_entropy(model(x), y))
        if number % 6 == 5:
            optimizer.zero_grad()
            sum(losses).backward()
            optimizer.step()


def history_of_scalars():
    history = {"loss": [], "accuracy": []}
    for _, _, x, y in batches(epochs=6):
        history["loss"].append(float(learn(x, y)))
        history["accuracy"].append(0.5)


def no_grad_service():
    sessions = {}
    model.eval()
    for request in range(3_000):
        user = random.randrange(10**9)
        with torch.no_grad():
            out = model(torch.randn(4, 128))
        sessions[user] = {"logits": out.tolist(), "state": out.repeat(8, 4)}  # HERE


def service_with_limit():
    sessions = collections.OrderedDict()
    model.eval()
    for request in range(3_000):
        with torch.no_grad():
            out = model(torch.randn(4, 128))
        sessions[random.randrange(10**9)] = out.repeat(8, 32)
        if len(sessions) > 200:
            sessions.popitem(last=False)


def lightning_outputs():
    import lightning as L

    class Lit(L.LightningModule):
        def __init__(self):
            super().__init__()
            self.net, self.outputs = model, []

        def training_step(self, batch, _):
            x, y = batch
            loss = torch.nn.functional.cross_entropy(self.net(x), y)
            self.outputs.append({"loss": loss.detach(), "features": self.net[0](x).detach()})  # HERE
            return loss

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=1e-3)
    loader = DataLoader(TensorDataset(torch.randn(1280, 128), torch.randint(8, (1280,))), batch_size=16)
    L.Trainer(max_epochs=4, logger=False, enable_checkpointing=False, enable_progress_bar=False, accelerator="cpu").fit(Lit(), loader)


def trainer_keeps_predictions():
    from transformers import Trainer, TrainingArguments, TrainerCallback
    import tempfile

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.net = model

        def forward(self, x, labels):
            logits = self.net(x)
            return {"loss": torch.nn.functional.cross_entropy(logits, labels), "logits": logits}

    class Keep(Trainer):
        kept = []

        def evaluation_loop(self, *arguments, **named):
            result = super().evaluation_loop(*arguments, **named)
            self.kept.append(np.repeat(result.predictions.reshape(len(data), -1), 10, axis=1))  # HERE
            return result
    data = [{"x": torch.randn(128), "labels": i % 8} for i in range(480)]
    folder = tempfile.mkdtemp()
    options = TrainingArguments(folder, per_device_train_batch_size=8, num_train_epochs=4, eval_strategy="steps", eval_steps=20, save_strategy="no",
                                report_to=[], use_cpu=True, disable_tqdm=True, logging_steps=50)
    Keep(Net(), options, train_dataset=data, eval_dataset=data, compute_metrics=lambda p: {"n": 1.0}).train()


def image_augment():
    """Healthy: pictures of many sizes are decoded and cropped."""
    from PIL import Image

    class Pictures(Dataset):
        def __len__(self):
            return 480

        def __getitem__(self, index):
            side = 64 + index % 200
            picture = Image.frombytes("RGB", (side, side), os.urandom(side * side * 3)).resize((40, 40))
            row = np.asarray(picture, dtype=np.float32).reshape(-1)[:128]
            return torch.from_numpy(row.copy()), index % 8
    for _, _, x, y in batches(data=Pictures(), epochs=6):
        learn(x, y)


def plots_kept():
    import matplotlib
    matplotlib.use("agg")
    from matplotlib import pyplot
    for _, number, x, y in batches(epochs=4):
        loss = learn(x, y)
        if number % 10 == 0:
            figure, axes = pyplot.subplots()  # HERE
            axes.plot([float(loss)] * 10)
            figure.savefig(io.BytesIO())  # HERE


globals()[sys.argv[1]]()
