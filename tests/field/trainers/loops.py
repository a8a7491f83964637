"""Loops of one's own in plain torch, also for old versions of it: loops.py CASE FOLDER."""
import itertools
import queue
import sys
import threading

import torch
from torch import nn
from torch.utils.data import DataLoader, RandomSampler, Sampler, Subset, TensorDataset, WeightedRandomSampler

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

def ppo():
    """The policy acts without gradients, in train mode; then several passes over what it collected."""
    for iteration in range(4):
        with torch.no_grad():
            seen = torch.randn(40, 16)
            acted = model(seen).argmax(dim=1)
        minibatches = DataLoader(TensorDataset(seen, acted), batch_size=8, shuffle=True)
        for epoch in range(3):
            for x, y in minibatches:
                train_on(x, y)
            truth.add("epochs")


def dqn():
    """One action in eval mode and without gradients before each step on a random batch from a buffer."""
    memory = []
    for action in range(80):
        state = torch.randn(1, 16)
        model.eval()
        with torch.no_grad():
            memory.append((state, model(state).argmax(dim=1)))
        model.train()
        if action >= 16:
            chosen = torch.randint(len(memory), (8,)).tolist()
            train_on(torch.cat([memory[i][0] for i in chosen]), torch.cat([memory[i][1] for i in chosen]))


def leftover():
    """Four batches a step, and a step with what is left at the end of each epoch: 4, 4 and 2 batches."""
    loader = loader_of()
    for epoch in range(3):
        for i, (x, y) in enumerate(loader, 1):
            nn.functional.cross_entropy(model(x), y).backward()
            if i % 4 == 0 or i == len(loader):
                optimizer.step()
                optimizer.zero_grad()
                truth.add("steps")
        truth.add("epochs")
        evaluate(loader_of(12))


def lbfgs():
    """A closure that runs forward and backward several times in one step."""
    fitter = torch.optim.LBFGS(model.parameters(), lr=0.1, max_iter=4)
    for epoch in range(3):
        for x, y in loader_of():
            def closure():
                fitter.zero_grad()
                loss = nn.functional.cross_entropy(model(x), y)
                loss.backward()
                return loss
            fitter.step(closure)
            truth.add("steps")
        truth.add("epochs")


def two_phase():
    """First many passes over a little, then a few over more, with an optimizer of its own."""
    global optimizer
    for epochs, count, rate in ((4, 16, 0.1), (2, 60, 0.001)):
        optimizer = torch.optim.Adam(model.parameters(), lr=rate)
        loader = loader_of(count, shuffle=True)
        for epoch in range(epochs):
            for x, y in loader:
                train_on(x, y)
            truth.add("epochs")
        evaluate(loader_of(12))


def folds():
    global model, optimizer
    data = Vectors(40)
    for fold in range(4):
        model = classifier()
        optimizer = torch.optim.Adam(model.parameters())
        held_out = range(fold * 10, fold * 10 + 10)
        train = DataLoader(Subset(data, [i for i in range(40) if i not in held_out]), batch_size=4, shuffle=True)
        for epoch in range(2):
            for x, y in train:
                train_on(x, y)
            truth.add("epochs")
            evaluate(DataLoader(Subset(data, held_out), batch_size=4))


def resumed():
    """A sampler that begins its first pass where the run before was killed."""
    class From(Sampler):
        begin = 24

        def __iter__(self):
            begin, From.begin = From.begin, 0
            return iter(range(begin, 40))

        def __len__(self):
            return 40 - From.begin

    loader = DataLoader(Vectors(40), batch_size=4, sampler=From())
    for epoch in range(3):
        for x, y in loader:
            train_on(x, y)
        truth.add("epochs")


def bucketed():
    """A batch sampler whose batches have different sizes."""
    batches = [list(range(begin, begin + size)) for begin, size in ((0, 2), (2, 10), (12, 4), (16, 8), (24, 1), (25, 6))]
    loader = DataLoader(Vectors(40), batch_sampler=batches, num_workers=1)
    for epoch in range(5):
        for x, y in loader:
            train_on(x, y)
        truth.add("epochs")


def evaluate_train():
    """After each epoch the training loader itself is evaluated, then another."""
    train, valid = loader_of(shuffle=True), loader_of(12)
    for epoch in range(3):
        for x, y in train:
            train_on(x, y)
        truth.add("epochs")
        evaluate(train)
        evaluate(valid)
        truth.add("evaluations", -1)  # nothing was trained between the two


def workers_killed():
    """Two workers that stay, and SIGKILL inside the forward pass of the last batch of the third epoch."""
    loader = loader_of(num_workers=2, persistent_workers=True)
    for epoch in range(3):
        for x, y in loader:
            if truth.counts["steps"] == 29:
                model(x)
                kill()
            train_on(x, y)
        truth.add("epochs")


def early_stop():
    """An evaluation every fourth batch; the third epoch ends inside after one."""
    loader, valid = loader_of(), loader_of(12)
    for epoch in range(3):
        for i, (x, y) in enumerate(loader, 1):
            train_on(x, y)
            if i % 4 == 0:
                evaluate(valid)
                if epoch == 2 and i == 8:
                    return
        truth.add("epochs")


def distilled():
    """A teacher in eval mode answers before each step."""
    teacher = classifier().eval()
    for epoch in range(3):
        for x, y in loader_of():
            with torch.no_grad():
                taught = teacher(x).softmax(dim=1)
            optimizer.zero_grad()
            (nn.functional.cross_entropy(model(x), y) + nn.functional.cross_entropy(model(x), taught)).backward()
            optimizer.step()
            truth.add("steps")
        truth.add("epochs")


globals()[case]()
