"""A third set of programs around torch as people report them: `torch_third.py KIND`; SCALE says how long one runs."""
import collections
import copy
import functools
import os
import random
import sys
import warnings

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset

warnings.filterwarnings("ignore")
torch.set_num_threads(1)
torch.manual_seed(0)
random.seed(0)
SCALE = int(os.environ.get("SCALE", "3"))
model = torch.nn.Sequential(torch.nn.Linear(128, 192), torch.nn.ReLU(), torch.nn.Linear(192, 8))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)


def learn(x, y):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    return loss


def loader(examples=1600, batch=16, data=None, **options):
    data = data or TensorDataset(torch.randn(examples, 128), torch.randint(8, (examples,)))
    return DataLoader(data, batch_size=batch, **{"shuffle": True, **options})


def attention_maps_kept():
    """A hook for a picture of the attention, which nobody removes after the picture was made."""
    attention = torch.nn.MultiheadAttention(64, 2, batch_first=True)
    steps = torch.optim.Adam(attention.parameters(), lr=1e-3)
    maps = []

    def remember(module, inputs, outputs):
        picture = outputs[1].detach().numpy().copy()  # HERE
        maps.append(picture)
    attention.register_forward_hook(remember)
    for epoch in range(2 * SCALE):
        for x in torch.randn(120, 8, 24, 64):
            steps.zero_grad()
            attention(x, x, x, need_weights=True)[0].square().mean().backward()
            steps.step()


def generated_samples():
    """A fixed noise is decoded every now and then, for a video of the training that is never written."""
    decoder = torch.nn.Sequential(torch.nn.Linear(16, 256), torch.nn.ReLU(), torch.nn.Linear(256, 32 * 32))
    steps = torch.optim.Adam(decoder.parameters(), lr=1e-3)
    noise, video = torch.randn(64, 16), []
    for step in range(300 * SCALE):
        steps.zero_grad()
        (decoder(torch.randn(16, 16)) - torch.rand(16, 1024)).square().mean().backward()
        steps.step()
        if step % 60 == 59:
            decoder.eval()
            with torch.no_grad():
                video.append(decoder(noise))  # HERE
            decoder.train()


def param_groups_grow():
    """Each task gets a head of its own, and its parameters join the optimizer; the old heads are never used again."""
    trunk = torch.nn.Linear(128, 96)
    steps = torch.optim.Adam(trunk.parameters(), lr=1e-3)
    for task in range(80 * SCALE):
        head = torch.nn.Linear(96, 40)  # HERE
        steps.add_param_group({"params": head.parameters()})
        for _ in range(4):
            steps.zero_grad()
            head(trunk(torch.randn(16, 128)).relu()).square().mean().backward()
            steps.step()


def ctx_kept():
    """A custom function notes its contexts in a list, for a test of its backward."""
    class Scale(torch.autograd.Function):
        contexts = []

        @staticmethod
        def forward(ctx, x):
            ctx.factor = x.abs() + 1  # HERE
            Scale.contexts.append(ctx)
            return x * 0.5

        @staticmethod
        def backward(ctx, grad):
            return grad * 0.5

    for epoch in range(2 * SCALE):
        for x, y in loader():
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(Scale.apply(x)), y).backward()
            optimizer.step()


class Shards(IterableDataset):
    """A stream of shards; each worker remembers what it has read, to tell duplicates."""
    def __init__(self, remembers):
        self.remembers, self.read = remembers, []

    def __iter__(self):
        for number in range(40):
            shard = np.random.rand(16, 1024).astype(np.float32)  # SHARD
            if self.remembers:
                self.read.append(shard)
            for row in shard:
                yield torch.from_numpy(row[:128].copy()), 1


def shards_remembered():
    feed = DataLoader(Shards(True), batch_size=16, num_workers=2, persistent_workers=True)
    for epoch in range(2 * SCALE):
        for x, y in feed:
            learn(x, y)


def shards_streamed():
    feed = DataLoader(Shards(False), batch_size=16, num_workers=2, persistent_workers=True, multiprocessing_context="spawn")
    for epoch in range(2 * SCALE):
        for x, y in feed:
            learn(x, y)


def profiler_never_stopped():
    """A profiler without a schedule around the whole training."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True):
        for epoch in range(2 * SCALE):
            for x, y in loader():
                learn(x, y)
        os._exit(0)


def masks_of_lengths():
    """A cache of masks, one for each of 48 lengths."""
    masks = {}

    def mask(length):
        if length not in masks:
            masks[length] = torch.zeros(length * 128).fill_(-1.0)  # HERE
        return masks[length]
    for step in range(300 * SCALE):
        x = torch.randn(16, 128) + mask(random.randrange(16, 64)).mean()
        learn(x, torch.randint(8, (16,)))


def losses_by_example():
    """The last loss of each example, with its graph: replaced in the next epoch, so that it is bounded by the data."""
    data = TensorDataset(torch.randn(640, 128), torch.randint(8, (640,)), torch.arange(640))
    last = {}
    for epoch in range(4 * SCALE):
        for x, y, numbers in loader(data=data):
            optimizer.zero_grad()
            losses = torch.nn.functional.cross_entropy(model(x), y, reduction="none")  # HERE
            for number, loss in zip(numbers.tolist(), losses):
                last[number] = loss
            losses.mean().backward(retain_graph=True)
            optimizer.step()


@functools.lru_cache(maxsize=64)
def read_tile(tile):
    return np.sin(np.arange(20_000, dtype=np.float32) + tile)  # FILL


class Tiles(Dataset):
    def __len__(self):
        return 1600

    def __getitem__(self, number):
        return torch.from_numpy(read_tile(number % 200)[:128].copy()), number % 8


def bounded_cache_in_forkserver():
    """Each worker keeps 64 tiles at most."""
    feed = loader(data=Tiles(), num_workers=2, persistent_workers=True, multiprocessing_context="forkserver")
    for epoch in range(2 * SCALE):
        for x, y in feed:
            learn(x, y)


def accumulation_with_average():
    """Gradient accumulation, clipping, a schedule and an averaged model."""
    average = copy.deepcopy(model)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 100)
    for epoch in range(3 * SCALE):
        for number, (x, y) in enumerate(loader()):
            (torch.nn.functional.cross_entropy(model(x), y) / 4).backward()
            if number % 4 == 3:
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad()
                schedule.step()
                with torch.no_grad():
                    for mine, theirs in zip(average.parameters(), model.parameters()):
                        mine.lerp_(theirs, 0.01)


def sequences_of_any_length():
    """Packed sequences of 10 to 300 tokens through an LSTM."""
    lstm = torch.nn.LSTM(32, 48, batch_first=True)
    steps = torch.optim.Adam(lstm.parameters(), lr=1e-3)
    for step in range(150 * SCALE):
        lengths = sorted(random.choices(range(10, 300), k=6), reverse=True)
        packed = torch.nn.utils.rnn.pack_padded_sequence(torch.randn(6, lengths[0], 32), lengths, batch_first=True)
        steps.zero_grad()
        lstm(packed)[0].data.square().mean().backward()
        steps.step()


def metric_reset():
    """A metric that keeps all scores of an epoch and is reset at its end."""
    from torchmetrics.classification import BinaryAUROC
    metric = BinaryAUROC()
    for epoch in range(4 * SCALE):
        for x, y in loader():
            learn(x, y)
            metric.update(torch.rand(512), torch.randint(2, (512,)))
        metric.compute()
        metric.reset()


def half_precision():
    """Training under autocast with bfloat16."""
    for epoch in range(2 * SCALE):
        for x, y in loader():
            optimizer.zero_grad()
            with torch.autocast("cpu", torch.bfloat16):
                loss = torch.nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()


def lightning_logged():
    """A Lightning module that logs, validates and saves its best weights in memory."""
    import lightning
    import logging
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net, self.best = model, None

        def training_step(self, batch, number):
            loss = torch.nn.functional.cross_entropy(self.net(batch[0]), batch[1])
            self.log("loss", loss, on_step=True, on_epoch=True)
            return loss

        def validation_step(self, batch, number):
            self.log("accuracy", (self.net(batch[0]).argmax(1) == batch[1]).float().mean())

        def on_validation_epoch_end(self):
            self.best = copy.deepcopy(self.net.state_dict())

        def configure_optimizers(self):
            return torch.optim.Adam(self.parameters())

    trainer = lightning.Trainer(max_epochs=5 * SCALE, logger=False, enable_checkpointing=False, enable_progress_bar=False,
                                enable_model_summary=False, accelerator="cpu")
    trainer.fit(Module(), loader(640), loader(160, shuffle=False))


def trainer_with_evaluation():
    """A Trainer of transformers that evaluates with metrics."""
    import tempfile
    import transformers
    config = transformers.BertConfig(vocab_size=400, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64)
    rows = [{"input_ids": torch.randint(0, 400, (24,)), "labels": torch.tensor(i % 2)} for i in range(320)]
    arguments = transformers.TrainingArguments(tempfile.mkdtemp(), per_device_train_batch_size=8, num_train_epochs=2 * SCALE, report_to=[], use_cpu=True,
                                               save_strategy="no", disable_tqdm=True, eval_strategy="steps", eval_steps=40, logging_steps=20)
    transformers.Trainer(transformers.BertForSequenceClassification(config), arguments, train_dataset=rows, eval_dataset=rows[:80],
                         compute_metrics=lambda p: {"accuracy": float((p.predictions.argmax(1) == p.label_ids).mean())}).train()


def writer_of_histograms():
    """One SummaryWriter for the whole run, with scalars and histograms."""
    import tempfile
    from torch.utils.tensorboard import SummaryWriter
    with SummaryWriter(tempfile.mkdtemp()) as writer:
        step = 0
        for epoch in range(2 * SCALE):
            for x, y in loader(800):
                writer.add_scalar("loss", learn(x, y).item(), step)
                if step % 10 == 0:
                    writer.add_histogram("weights", model[0].weight, step)
                step += 1


def writer_of_each_epoch():
    """A SummaryWriter is opened for every epoch and never closed: a thread, a queue and an open file each."""
    import tempfile
    from torch.utils.tensorboard import SummaryWriter
    for epoch in range(30 * SCALE):
        writer = SummaryWriter(tempfile.mkdtemp())
        for x, y in loader(64):
            writer.add_scalar("loss", learn(x, y).item(), epoch)


def bounded_ring_of_states():
    """The last 50 activations, for a moving average of them."""
    ring = collections.deque(maxlen=50)
    for epoch in range(3 * SCALE):
        for x, y in loader():
            learn(x, y)
            with torch.no_grad():
                ring.append(model[0](x).repeat(4, 4))  # HERE


if __name__ == "__main__":
    globals()[sys.argv[1]]()
