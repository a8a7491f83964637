"""Healthy programs around torch, numpy and tables: `torch_family.py KIND`."""
import functools
import os
import sys
import tempfile
import threading

STEPS = int(os.environ.get("STEPS", 160))


def network(width=128):
    import torch
    torch.manual_seed(0)
    torch.set_num_threads(1)
    return torch.nn.Sequential(torch.nn.Linear(width, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))


def train(loader_options=None, optimizer="SGD", wrap=None, each_step=None, each_epoch=None, dataset=None):
    import torch
    from torch.utils.data import DataLoader, TensorDataset
    model = network()
    step = getattr(torch.optim, optimizer)(model.parameters(), lr=1e-3)
    dataset = dataset or TensorDataset(torch.randn(640, 128), torch.randint(10, (640,)))
    loader = DataLoader(dataset, batch_size=16, shuffle=True, **(loader_options or {}))
    forward = wrap(model) if wrap else model
    for epoch in range(max(1, STEPS // len(loader))):
        for x, y in loader:
            step.zero_grad()
            loss = torch.nn.functional.cross_entropy(forward(x), y)
            loss.backward()
            step.step()
            if each_step:
                each_step(x, loss)
        if each_epoch:
            each_epoch(model, loader)


def torch_sgd():
    train()


def torch_adam():
    train(optimizer="AdamW")


def torch_workers():
    train({"num_workers": 2, "persistent_workers": True})


def torch_new_workers_each_epoch():
    train({"num_workers": 2})


def torch_spawned_workers():
    train({"num_workers": 1, "multiprocessing_context": "spawn", "persistent_workers": True})


def torch_losses_as_numbers():
    losses = []
    train(each_step=lambda x, loss: losses.append(loss.item()))


def torch_window_of_outputs():
    import collections
    window = collections.deque(maxlen=10)
    train(each_step=lambda x, loss: window.append(x.clone()))


def torch_evaluation():
    import torch

    def evaluate(model, loader):
        with torch.no_grad():
            torch.cat([model(x) for x, _ in loader]).argmax(1)
    train(each_epoch=evaluate)


def torch_checkpoints():
    import torch
    folder = tempfile.mkdtemp()
    train(each_epoch=lambda model, _: torch.save(model.state_dict(), folder + "/model.pt"))


def torch_compile():
    import torch
    train(wrap=torch.compile)


def torch_averaged():
    import torch
    average = []

    def update(x, loss):
        if not average:
            average.append(torch.zeros_like(x))
        average[0].mul_(0.9).add_(x, alpha=0.1)
    train(each_step=update)


def torch_decoding():
    import torch

    class Decoded(torch.utils.data.Dataset):
        def __len__(self):
            return 640

        def __getitem__(self, index):
            return torch.sin(torch.arange(128.0) * index), index % 10
    train(dataset=Decoded())


def torch_no_loader():
    import torch
    model, x, y = network(), torch.randn(64, 128), torch.randint(10, (64,))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for _ in range(STEPS):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()


def torch_inference():
    import torch
    model = network().eval()
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(16 * STEPS, 128)), batch_size=16)
    with torch.inference_mode():
        for (x,) in loader:
            model(x).argmax(1).tolist()


def transformers_trainer():
    import torch
    import transformers
    config = transformers.BertConfig(vocab_size=500, hidden_size=64, num_hidden_layers=2, num_attention_heads=2, intermediate_size=128)
    data = [{"input_ids": torch.randint(0, 500, (32,)), "labels": torch.tensor(i % 2)} for i in range(320)]
    arguments = transformers.TrainingArguments(tempfile.mkdtemp(), per_device_train_batch_size=8, max_steps=STEPS, report_to=[], use_cpu=True,
                                               save_strategy="no", disable_tqdm=True)
    transformers.Trainer(transformers.BertForSequenceClassification(config), arguments, train_dataset=data).train()


def transformers_generate():
    import torch
    import transformers
    config = transformers.GPT2Config(vocab_size=500, n_embd=64, n_layer=2, n_head=2)
    model = transformers.GPT2LMHeadModel(config).eval()
    with torch.no_grad():
        for _ in range(STEPS // 2):
            model.generate(torch.randint(0, 500, (2, 8)), max_new_tokens=16, do_sample=False, pad_token_id=0)


def lightning_fit():
    import lightning
    import torch

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.network = network()

        def training_step(self, batch, _):
            loss = torch.nn.functional.cross_entropy(self.network(batch[0]), batch[1])
            self.log("loss", loss)
            return loss

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=1e-3)
    data = torch.utils.data.TensorDataset(torch.randn(640, 128), torch.randint(10, (640,)))
    lightning.Trainer(max_epochs=max(1, STEPS // 40), accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
                      enable_model_summary=False).fit(Module(), torch.utils.data.DataLoader(data, batch_size=16))


def numpy_loop():
    import numpy as np
    weights = np.zeros((256, 256))
    for step in range(STEPS * 4):
        weights += np.random.default_rng(step).standard_normal((256, 256)) * 1e-3


def numpy_bounded_cache():
    import numpy as np

    @functools.lru_cache(maxsize=64)
    def table(key):
        return np.full(8192, key)
    for step in range(STEPS * 8):
        table(step % 200).sum()


def pandas_groupby():
    import numpy as np
    import pandas as pd
    frame = pd.DataFrame({"key": np.arange(20000) % 50, "value": np.random.default_rng(0).standard_normal(20000)})
    for step in range(STEPS):
        frame.assign(value=frame.value * step).groupby("key").value.mean().sort_values()


def pandas_csv():
    import io

    import pandas as pd
    text = "a,b\n" + "\n".join(f"{i},{i * i}" for i in range(5000))
    for _ in range(STEPS):
        pd.read_csv(io.StringIO(text)).describe()


def polars_lazy():
    import polars as pl
    frame = pl.DataFrame({"a": range(20000), "b": range(20000)})
    for step in range(STEPS):
        frame.lazy().filter(pl.col("a") % 7 == step % 7).group_by("a").len().collect()


def arrow_batches():
    import pyarrow as pa
    import pyarrow.compute as pc
    for step in range(STEPS):
        pc.sum(pa.array(range(20000)))


def http_server():
    import http.server
    import json
    import urllib.request

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            body = json.dumps({"values": list(range(2000))}).encode()
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for _ in range(STEPS * 3):
        json.load(urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/"))
    server.shutdown()


def thread_pool():
    import concurrent.futures

    import numpy as np
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for step in range(STEPS):
            sum(pool.map(lambda n: float(np.ones(n).sum()), [20000] * 8))


if __name__ == "__main__":
    globals()[sys.argv[1]]()
