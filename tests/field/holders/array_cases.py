"""Holders of arrays, images and tensors, by themselves and in real libraries. See known.py."""

from known import COUNT, SIZE, blob, case, main

# ---- numpy, PIL, pandas ----
@case(r"keep\[\*\]")
def numpy_arrays():
    import numpy
    global keep
    keep = [numpy.zeros(SIZE, numpy.uint8) for i in range(COUNT)]


@case(r"keep\[\*\](\.<base>)?")
def numpy_views():
    import numpy
    global keep
    keep = [numpy.zeros(SIZE, numpy.uint8)[5:] for i in range(COUNT)]


@case(r"keep\[\*\](\[\*\]|\.<base>)?")
def numpy_of_objects():
    import numpy
    global keep
    keep = numpy.empty(COUNT, object)
    for i in range(COUNT):
        keep[i] = blob(i)


@case(r"keep\[\*\]\.(_im|im)")
def pil_images():
    from PIL import Image
    global keep
    keep = [Image.new("RGB", (250, 200)) for i in range(COUNT)]


@case(r"keep\[\*\].*")
def pandas_frames():
    import numpy
    import pandas
    global keep
    keep = [pandas.DataFrame({"a": numpy.zeros(SIZE // 8)}) for i in range(COUNT)]

# ---- torch ----
@case(r"keep\[\*\]")
def tensors():
    import torch
    global keep
    keep = [torch.zeros(SIZE, dtype=torch.uint8) for i in range(COUNT)]


@case(r"keep\[\*\](\._storage|\._untyped_storage)?")
def storages():
    import torch
    global keep
    keep = [torch.zeros(SIZE, dtype=torch.uint8) for i in range(COUNT)]
    keep = [t.untyped_storage() if hasattr(t, "untyped_storage") else t.storage() for t in keep]


@case(r"keep\[\*\]")
def tensor_views():
    import torch
    global keep
    keep = [torch.zeros(SIZE, dtype=torch.uint8)[7:] for i in range(COUNT)]


@case(r"keep\[\*\](\.<buffer>)?.*")
def numpy_of_tensors():
    import torch
    global keep
    keep = [torch.zeros(SIZE, dtype=torch.uint8).numpy() for i in range(COUNT)]


@case(r"module\.<closure outputs>\[\*\]|module\._forward_hooks\[.*\](\.<function>)?\.<closure outputs>\[\*\]")
def forward_hook():
    import torch
    global module
    module = torch.nn.Linear(10, SIZE // 4)

    def watch(m):
        outputs = []

        def hook(_, __, output):
            outputs.append(output.detach())
        m.register_forward_hook(hook)
    watch(module)
    with torch.no_grad():
        for i in range(COUNT):
            module(torch.zeros(1, 10))


@case(r"losses\[\*\].*<graph.*")
def autograd_graph():
    import torch
    global losses
    losses = []
    weight = torch.ones(SIZE // 4, requires_grad=True)
    for i in range(COUNT):
        losses.append((weight * torch.full((SIZE // 4,), 2.0)).exp().mean())


@case(r"outputs\[\*\]\['loss'\].*<graph.*")
def lightning_outputs():
    import torch
    global outputs
    outputs = []
    model = torch.nn.Sequential(torch.nn.Linear(10, SIZE // 4), torch.nn.ReLU())
    for i in range(COUNT):
        outputs.append({"loss": model(torch.ones(1, 10)).sum()})


@case(r"parameters\[\*\](\.grad)?")  # the parameters have the size of their gradients
def gradients():
    import torch
    global parameters
    parameters = [torch.zeros(SIZE // 4, requires_grad=True) for i in range(COUNT)]
    for p in parameters:
        p.sum().backward()

# ---- Real libraries ----
@case(r"metric\.value\[\*\]|metric\._defaults.*|metric\..*value.*\[\*\]")
def torchmetrics_state():
    import torch
    import torchmetrics
    global metric
    metric = torchmetrics.CatMetric()
    for i in range(COUNT):
        metric.update(torch.ones(SIZE // 4))


@case(r"trainer\.callback_handler\.callbacks\[\d+\]\.seen\[\*\]")
def hugging_face_callback():
    import tempfile
    import torch
    import transformers
    global trainer

    class Keeps(transformers.TrainerCallback):
        def __init__(self):
            self.seen = []

        def on_step_end(self, arguments, state, control, **more):
            self.seen.append(torch.ones(SIZE // 4))

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(4, 1)

        def forward(self, x, labels=None):
            return {"loss": (self.layer(x) - labels).pow(2).mean()}
    data = [{"x": torch.ones(4), "labels": torch.ones(1)} for i in range(COUNT)]
    with tempfile.TemporaryDirectory() as folder:
        arguments = transformers.TrainingArguments(folder, per_device_train_batch_size=1, num_train_epochs=1,
                                                   report_to=[], use_cpu=True, save_strategy="no", disable_tqdm=True)
        trainer = transformers.Trainer(Net(), arguments, train_dataset=data, callbacks=[Keeps()])
        trainer.train()


@case(r"model\.outputs\[\*\]\['loss'\]|.*model\.outputs\[\*\]\['loss'\]")
def lightning_module():
    import lightning
    import torch
    global model

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer, self.outputs = torch.nn.Linear(4, 1), []

        def training_step(self, batch, index):
            loss = self.layer(batch).mean()
            self.outputs.append({"loss": torch.ones(SIZE // 4)})
            return loss

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 0.1)
    model = Module()
    trainer = lightning.Trainer(max_epochs=1, logger=False, enable_checkpointing=False, enable_progress_bar=False,
                                enable_model_summary=False, accelerator="cpu")
    trainer.fit(model, torch.utils.data.DataLoader(torch.ones(COUNT, 4)))


if __name__ == "__main__":
    main()
