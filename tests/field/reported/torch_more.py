"""More programs around torch as people report them: `torch_more.py KIND`; SCALE says how long one runs."""
import collections
import copy
import os
import random
import sys

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset

torch.set_num_threads(1)
torch.manual_seed(0)
random.seed(0)
SCALE = int(os.environ.get("SCALE", "3"))
model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 8))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)


def learn(x, y):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    return loss


def loader(examples=1600, batch=16, data=None, **options):
    data = data or TensorDataset(torch.randn(examples, 256), torch.randint(8, (examples,)))
    return DataLoader(data, batch_size=batch, shuffle=True, **options)


def hooks_never_removed():
    """A hook on a parameter at each step, meant for this step's scale; nobody removes the handles."""
    weight = model[0].weight
    for epoch in range(3 * SCALE):
        for x, y in loader():
            scale = torch.rand(16, 256)  # HERE
            weight.register_hook(lambda grad, scale=scale: grad * scale.mean())
            learn(x, y)


def transitions_endless():
    """Reinforcement learning without a limit of the memory."""
    memory = []
    state = np.zeros(512, dtype=np.float32)
    for step in range(1500 * SCALE):
        following = np.random.rand(512).astype(np.float32)  # HERE
        memory.append((state, random.randrange(8), random.random(), following))
        state = following
        if len(memory) >= 64:
            sample = random.sample(memory, 16)
            x = torch.from_numpy(np.stack([s[0][:256] for s in sample]))
            learn(x, torch.tensor([s[1] for s in sample]))


def transitions_bounded():
    """The same with a deque of 400."""
    memory = collections.deque(maxlen=400)
    state = np.zeros(2048, dtype=np.float32)
    for step in range(1500 * SCALE):
        following = np.random.rand(2048).astype(np.float32)  # HERE
        memory.append((state, random.randrange(8), random.random(), following))
        state = following
        if len(memory) >= 64:
            sample = random.sample(memory, 16)
            x = torch.from_numpy(np.stack([s[0][:256] for s in sample]))
            learn(x, torch.tensor([s[1] for s in sample]))


def sessions_with_caches():
    """A service that keeps the keys and values of every conversation."""
    from transformers import GPT2Config, GPT2LMHeadModel
    net = GPT2LMHeadModel(GPT2Config(n_layer=2, n_head=2, n_embd=64, vocab_size=500, n_positions=128)).eval()
    sessions = {}
    with torch.no_grad():
        for request in range(400 * SCALE):
            tokens = torch.randint(500, (1, 48))
            answer = net(tokens, use_cache=True)  # HERE
            sessions[request] = answer.past_key_values


def sessions_answered():
    from transformers import GPT2Config, GPT2LMHeadModel
    net = GPT2LMHeadModel(GPT2Config(n_layer=2, n_head=2, n_embd=64, vocab_size=500, n_positions=128)).eval()
    with torch.no_grad():
        for request in range(400 * SCALE):
            tokens = torch.randint(500, (1, 48))
            past = net(tokens, use_cache=True).past_key_values
            for _ in range(3):
                step = net(tokens[:, -1:], past_key_values=past, use_cache=True)
                past = step.past_key_values


def lightning_validation():
    """validation_step appends to a list which only training would clear."""
    import lightning
    import logging
    import warnings
    warnings.filterwarnings("ignore")
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net, self.kept = model, []

        def training_step(self, batch, number):
            return torch.nn.functional.cross_entropy(self.net(batch[0]), batch[1])

        def validation_step(self, batch, number):
            logits = self.net(batch[0]).softmax(-1).repeat(1, 64)  # HERE
            self.kept.append((logits, batch[1]))

        def configure_optimizers(self):
            return torch.optim.Adam(self.parameters())

    trainer = lightning.Trainer(max_epochs=10 * SCALE, logger=False, enable_checkpointing=False, enable_progress_bar=False,
                                enable_model_summary=False, accelerator="cpu", num_sanity_val_steps=0)
    trainer.fit(Module(), loader(800), loader(320))


def compile_many_shapes():
    """Sequences of many lengths: the compiler gives up specialising at its limit."""
    net = torch.compile(model, backend="aot_eager")
    for epoch in range(2 * SCALE):
        for x, y in loader():
            width = random.randrange(4, 16)
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(net(x[:width]), y[:width]).backward()
            optimizer.step()


def shared_batches_kept():
    """Batches of worker processes arrive as shared memory and are kept for a report at the end."""
    torch.multiprocessing.set_sharing_strategy("file_system")
    seen = []
    for epoch in range(2 * SCALE):
        for x, y in loader(num_workers=2):  # HERE
            seen.append(x)
            learn(x, y)


def best_state():
    """A copy of the state at each improvement; there is one at a time."""
    best, lowest = None, 1e9
    for epoch in range(3 * SCALE):
        for x, y in loader():
            loss = learn(x, y).item()
            if loss < lowest:
                lowest, best = loss, copy.deepcopy(model.state_dict())


def confusion_of_epoch():
    """A list of predictions that every epoch begins anew."""
    for epoch in range(6 * SCALE):
        predictions = []
        for x, y in loader(800):
            learn(x, y)
            predictions.append(model(x).detach().repeat(1, 64))
        torch.cat(predictions).argmax(1)


class Images(Dataset):
    def __init__(self):
        self.decoded = {}

    def __len__(self):
        return 640

    def __getitem__(self, index):
        if index not in self.decoded:
            self.decoded[index] = np.random.rand(64, 64, 3).astype(np.float32)  # FILL
        image = self.decoded[index]
        return torch.from_numpy(image.reshape(-1)[:256].copy()), index % 8


def decoded_images_in_workers():
    """Spawned workers that decode each image once and keep it."""
    images = DataLoader(Images(), batch_size=16, num_workers=2, persistent_workers=True, multiprocessing_context="spawn")
    for epoch in range(4 * SCALE):
        for x, y in images:
            learn(x, y)


def running_loss_tensor():
    """The sum of losses with their graphs, for a log line that never comes."""
    total = torch.zeros(())
    for epoch in range(3 * SCALE):
        for x, y in loader():
            loss = learn(x, y)
            prediction = model(x)  # HERE
            total = total + prediction.pow(2).mean()


def scheduler_of_each_step():
    """A scheduler is made anew at each step; each wraps the optimizer's step once more."""
    for epoch in range(2 * SCALE):
        for x, y in loader(800):
            learn(x, y)
            snapshot = {name: value.clone() for name, value in model[2].state_dict().items()}  # HERE
            optimizer.register_step_pre_hook(lambda opt, args, kwargs, snapshot=snapshot: None)


if __name__ == "__main__":
    globals()[sys.argv[1]]()
