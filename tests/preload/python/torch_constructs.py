"""Allocations that torch makes for Python code: with and without the GIL, below C++, in backward, in workers."""
import sys
import threading

import truth
from truth import expect, size

try:
    import torch
except ImportError:
    sys.exit(77)

torch.set_num_threads(2)


def factory():
    n = size(); expect(n); return torch.empty(n, dtype=torch.uint8)


def operators():
    n = size(); a = torch.zeros(n, dtype=torch.uint8); expect(n); a + 1
    n = size(); a = torch.zeros(n, dtype=torch.uint8); expect(n); a.clone()


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(64, 64)

    def forward(self, x):
        n = size(); expect(n); torch.empty(n, dtype=torch.uint8).add_(1)
        return self.linear(x)


def modules_and_hooks():
    net = Net()
    stack = torch.nn.Sequential(net, torch.nn.ReLU(), net)
    stack.register_forward_hook(lambda *_: (lambda n: (expect(n), torch.empty(n, dtype=torch.uint8)))(size()) and None)
    stack(torch.randn(8, 64))


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        n = size(); expect(n); torch.empty(n, dtype=torch.uint8); return x * 2

    @staticmethod
    def backward(ctx, gradient):
        n = size(); expect(n); torch.empty(n, dtype=torch.uint8); return gradient * 2


def custom_function():
    x = torch.randn(8, 8, requires_grad=True)
    Double.apply(x).sum().backward()


def tensor_hook():
    x = torch.randn(8, 8, requires_grad=True)
    x.register_hook(lambda _: (lambda n: (expect(n), torch.empty(n, dtype=torch.uint8)))(size()) and None)
    (x * 2).sum().backward()


def gradient_in_backward():
    n = size(); x = torch.randn(n, requires_grad=True); s = x.relu().sum()
    expect(n * 4); s.backward()
    truth.EXPECTED[n * 4].insert(0, truth.DEEPER)  # torch's own frames are below


def threads():
    def work(k):
        for _ in range(5):
            n = size() + k; a = torch.zeros(n, dtype=torch.uint8); expect(n); a.mul(3)
    started = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    [t.start() for t in started]
    [t.join() for t in started]


def checkpointed():
    from torch.utils.checkpoint import checkpoint

    def block(t):
        n = size(); expect(n); torch.empty(n, dtype=torch.uint8)
        return torch.relu(t) * 2
    checkpoint(block, torch.randn(16, 16, requires_grad=True)).sum().backward()


class Reentrant(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, depth):
        ctx.depth = depth
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        if ctx.depth > 0:
            with torch.enable_grad():
                Reentrant.apply(torch.ones(2, requires_grad=True), ctx.depth - 1).sum().backward()
        else:
            n = size(); expect(n); torch.empty(n, dtype=torch.uint8)
        return gradient, None


def deep_backward():
    Reentrant.apply(torch.ones(2, requires_grad=True), 130).sum().backward()  # moves to a thread of the engine's pool


class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, i):
        return torch.full((30000,), float(i))


def workers():
    for _ in torch.utils.data.DataLoader(Data(), batch_size=4, num_workers=2):
        pass


for _ in range(3):
    for case in (factory, operators, modules_and_hooks, custom_function, tensor_hook, gradient_in_backward, threads,
                 checkpointed, deep_backward):
        case()
workers()
truth.save()
