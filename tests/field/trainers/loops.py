"""Loops of one's own in plain torch, also for old versions of it: loops.py CASE FOLDER."""
import itertools
import queue
import sys
import threading

import torch
from torch import nn
from torch.utils.data import DataLoader, RandomSampler, WeightedRandomSampler

from truth import Stream, Truth, Vectors, classifier, kill

case, folder = sys.argv[1], sys.argv[2]
truth = Truth()
model = classifier()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)


def train_on(x, y):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
    truth.add("steps")


def evaluate(loader, with_no_grad=True):
    model.eval()
    with torch.set_grad_enabled(not with_no_grad):
        for x, _ in loader:
            model(x)
    model.train()
    truth.add("evaluations")


def loader_of(count=40, **settings):
    return DataLoader(Vectors(count), batch_size=4, **settings)


def cycle():
    """itertools.cycle keeps the batches of the first pass and hands them out again."""
    batches = itertools.cycle(loader_of(shuffle=True))
    for step in range(1, 36):
        train_on(*next(batches))
        if step % 10 == 0:
            truth.add("epochs")


def endless():
    """A generator that begins the loader anew, asked by a loop of steps."""
    def forever(loader):
        while True:
            yield from loader
    batches = forever(loader_of(shuffle=True))
    for step in range(1, 36):
        train_on(*next(batches))
        if step % 10 == 0 and step < 35:
            truth.add("epochs")


def replacement():
    data = Vectors(40)
    for sampler in (RandomSampler(data, replacement=True, num_samples=24), WeightedRandomSampler([1.0] * 40, 24)):
        for epoch in range(2):
            for x, y in DataLoader(data, batch_size=4, sampler=sampler):
                train_on(x, y)
            truth.add("epochs")


def zipped():
    for epoch in range(3):
        for (x, y), (u, _) in zip(loader_of(32), loader_of(48)):
            train_on(torch.cat([x, u]), torch.cat([y, y]))
        truth.add("epochs")
        evaluate(loader_of(12))


def in_turn():
    """A validation iterator that lives through the epoch and gives one batch every few steps."""
    for epoch in range(3):
        valid = iter(loader_of(40))
        for i, (x, y) in enumerate(loader_of(48)):
            train_on(x, y)
            if i % 4 == 3:
                model.eval()
                with torch.no_grad():
                    model(next(valid)[0])
                model.train()
                truth.add("evaluations")
        truth.add("epochs")


def rollouts():
    """Reinforcement learning: the policy acts without gradients, then learns from what it collected."""
    for iteration in range(12):
        model.eval()
        with torch.no_grad():
            seen = [torch.randn(4, 16) for _ in range(10)]
            acted = [model(x).argmax(dim=1) for x in seen]
        model.train()
        for x, y in zip(seen[:5], acted[:5]):
            train_on(x, y)


def ahead(count=40):
    """A prefetcher written as a generator, one batch ahead."""
    def one_ahead(loader):
        batches = iter(loader)
        current = next(batches, None)
        while current is not None:
            following = next(batches, None)
            yield current
            current = following
    for epoch in range(3):
        for x, y in one_ahead(loader_of(count)):
            if case == "ahead_killed" and truth.counts["steps"] == 29:
                model(x)
                kill()
            train_on(x, y)
        truth.add("epochs")
        evaluate(loader_of(12))


def ahead_killed():
    ahead()


def background():
    """A prefetcher in a thread of its own."""
    for epoch in range(3):
        batches = queue.Queue(maxsize=2)

        def fill():
            for batch in loader_of():
                batches.put(batch)
            batches.put(None)

        thread = threading.Thread(target=fill)
        thread.start()
        while (batch := batches.get()) is not None:
            train_on(*batch)
        thread.join()
        truth.add("epochs")


def killed():
    """SIGKILL inside the forward pass of the last batch of the second epoch."""
    for epoch in range(3):
        for x, y in loader_of():
            if truth.counts["steps"] == 19:
                model(x)
                kill()
            train_on(x, y)
        truth.add("epochs")
        evaluate(loader_of(12))


def partial():
    for epoch in range(3):
        for i, (x, y) in enumerate(loader_of()):
            if epoch == 2 and i == 6:
                return
            train_on(x, y)
        truth.add("epochs")


def drop_last():
    for epoch in range(3):
        for x, y in loader_of(42, drop_last=True, num_workers=2):
            train_on(x, y)
        truth.add("epochs")
        evaluate(loader_of(12), with_no_grad=False)


def stream():
    for epoch in range(3):
        for x, y in DataLoader(Stream(40), batch_size=4, num_workers=1):
            train_on(x, y)
        truth.add("epochs")


def frozen():
    """A part of the model stays in eval mode while it is trained: no evaluation."""
    for epoch in range(3):
        model.train()
        model[1].eval()
        for x, y in loader_of():
            train_on(x, y)
        truth.add("epochs")


def baseline():
    """An evaluation before the first step, and one on two sets of data after each epoch."""
    valid, test = loader_of(12), loader_of(8)
    evaluate(valid)
    for epoch in range(2):
        for x, y in loader_of():
            train_on(x, y)
        truth.add("epochs")
        evaluate(valid)
        evaluate(test)
        truth.add("evaluations", -1)


globals()[case]()
