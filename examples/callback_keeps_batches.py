"""A leak with a holder: a callback of the trainer keeps every batch it is given, "to look at the inputs later".

Expected verdict: leak
Expected verdict with --fixed: steady
The collator makes the batch, and that is the line a trace finds. Who keeps it is `trainer.callback_handler.callbacks[1].seen`.
`--fixed` keeps what the callback needs of a batch, its mean.
"""

import argparse

import torch
from support import Truth, classifier, train_step
from torch.utils.data import DataLoader, Dataset

try:
    from plateau_trace import mark
except ImportError:  # not under Plateau
    mark = None

IMAGES = 663
SIDE = 64


class Photos(Dataset):
    def __len__(self):
        return IMAGES

    def __getitem__(self, index):
        return torch.full((3, SIDE, SIDE), float(index % 7)), index % 10


def collate(examples):
    images, labels = zip(*examples)
    return {"pixel_values": torch.stack(images), "labels": torch.tensor(labels)}  # LEAK


class ProgressCallback:
    def __init__(self):
        self.losses = []

    def on_step_end(self, inputs, loss):
        self.losses.append(round(loss, 3))


class InputsCallback:
    """Remembers the inputs, to draw a histogram of them when training ends."""

    def __init__(self, fixed):
        self.fixed = fixed
        self.seen = []

    def on_step_end(self, inputs, loss):
        self.seen.append(inputs["pixel_values"].mean().item() if self.fixed else inputs)


class CallbackHandler:
    def __init__(self, callbacks):
        self.callbacks = callbacks

    def on_step_end(self, inputs, loss):
        for callback in self.callbacks:
            callback.on_step_end(inputs, loss)


class Trainer:
    def __init__(self, callbacks):
        self.callback_handler = CallbackHandler(callbacks)
        self.model = torch.nn.Sequential(torch.nn.Flatten(), classifier(3 * SIDE * SIDE, 8))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)

    def train(self, epochs, truth):
        loader = DataLoader(Photos(), batch_size=8, shuffle=True, collate_fn=collate)
        for _ in range(epochs):
            for inputs in loader:
                loss = train_step(self.model, self.optimizer, inputs["pixel_values"], inputs["labels"])
                self.callback_handler.on_step_end(inputs, loss)
                truth.steps += 1
                # A run of minutes is looked at by itself; this one is over in seconds, so it asks.
                if mark is not None and truth.steps in (32, 64, 128, 192):
                    mark.holders()
            truth.epochs += 1


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--fixed", action="store_true")
    fixed = options.parse_args().fixed
    truth = Truth()
    trainer = Trainer([ProgressCallback(), InputsCallback(fixed)])
    trainer.train(epochs=3, truth=truth)
    truth.print(leak_bytes_per_step=0 if fixed else 8 * 3 * SIDE * SIDE * 4)


main()
