"""Holders in programs that train: trainers, callbacks, metrics, data sets, hooks, optimizers. See known.py."""
import tempfile

from known import COUNT, SIZE, ask, case, main


def tensor():
    import torch
    return torch.ones(SIZE // 4)


def hugging_face_trainer(folder, *callbacks):
    import torch
    import transformers

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(4, 1)

        def forward(self, x, labels=None):
            return {"loss": (self.layer(x) - labels).pow(2).mean()}
    data = [{"x": torch.ones(4), "labels": torch.ones(1)} for i in range(COUNT)]
    arguments = transformers.TrainingArguments(folder, per_device_train_batch_size=1, num_train_epochs=1, report_to=[],
                                               use_cpu=True, save_strategy="no", disable_tqdm=True)
    return transformers.Trainer(Net(), arguments, train_dataset=data, callbacks=list(callbacks))


@case(r"trainer\.state\.log_history\[\*\]\['outputs'\]")
def tensors_in_the_log_history():
    import transformers
    global trainer

    class Logs(transformers.TrainerCallback):
        def on_step_end(self, arguments, state, control, **more):
            state.log_history.append({"step": state.global_step, "outputs": tensor()})
    with tempfile.TemporaryDirectory() as folder:
        trainer = hugging_face_trainer(folder, Logs())
        trainer.train()


@case(r"\w+\(\) self\.by_step\[\*\]\['hidden'\]|.*callbacks\[\d+\]\.by_step\[\*\]\['hidden'\]")
def callback_asked_while_it_trains():
    import transformers

    class Keeps(transformers.TrainerCallback):
        def __init__(self):
            self.by_step = {}

        def on_step_end(self, arguments, state, control, **more):
            self.by_step[state.global_step] = {"hidden": tensor()}
            if state.global_step == COUNT:
                ask()
    with tempfile.TemporaryDirectory() as folder:
        hugging_face_trainer(folder, Keeps()).train()
    return "asked"


def lightning_trainer(*callbacks):
    import lightning
    return lightning.Trainer(max_epochs=1, logger=False, enable_checkpointing=False, enable_progress_bar=False,
                             enable_model_summary=False, accelerator="cpu", callbacks=list(callbacks))


def lightning_model():
    import lightning
    import torch

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(4, 1)

        def training_step(self, batch, index):
            return self.layer(batch).mean()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 0.1)
    return Module()


@case(r"(fitter|model\._trainer)\.callbacks\[\d+\]\.features\[\*\]\[1\]")
def lightning_callback():
    import lightning
    import torch
    global fitter

    class Features(lightning.Callback):
        def __init__(self):
            self.features = []

        def on_train_batch_end(self, trainer, module, outputs, batch, index):
            self.features.append((index, tensor()))
    fitter = lightning_trainer(Features())
    fitter.fit(lightning_model(), torch.utils.data.DataLoader(torch.ones(COUNT, 4)))


@case(r"metrics\._modules\['\w+'\]\.\w+\[\*\]|metrics\..*\.(preds|target|value)\[\*\]")
def metric_in_a_collection():
    import torch
    import torchmetrics
    global metrics
    metrics = torchmetrics.MetricCollection({"cat": torchmetrics.CatMetric(), "mean": torchmetrics.MeanMetric()})
    for i in range(COUNT):
        metrics.update(torch.ones(SIZE // 4))


@case(r"loader\.dataset\.cache\[\*\](\[0\]|\[\*\])")
def cache_behind_a_loader():
    import torch
    global loader

    class Samples(torch.utils.data.Dataset):
        def __init__(self):
            self.cache = {}

        def __len__(self):
            return COUNT

        def __getitem__(self, i):
            if i not in self.cache:
                self.cache[i] = (tensor(), i)
            return torch.ones(2)
    loader = torch.utils.data.DataLoader(Samples(), batch_size=2)
    for batch in loader:
        pass


@case(r"net\..*<closure gradients>\[\*\]")
def hook_of_a_gradient():
    import torch
    global net
    net = torch.nn.Sequential(torch.nn.Linear(SIZE // 4, 1))

    def watch(parameter):
        gradients = []
        parameter.register_hook(lambda gradient: gradients.append(gradient.clone()))
    watch(net[0].weight)
    for i in range(COUNT):
        net(torch.ones(1, SIZE // 4)).sum().backward()


@case(r"net\..*(<self>|_forward_hooks).*activations\[.*\]\[\*\]")
def hook_that_is_a_method():
    import torch
    global net
    net = torch.nn.Sequential(torch.nn.Linear(4, SIZE // 4))

    class Recorder:
        def __init__(self):
            self.activations = {"first": []}

        def on_forward(self, module, inputs, output):
            self.activations["first"].append(output.detach())
    net[0].register_forward_hook(Recorder().on_forward)
    with torch.no_grad():
        for i in range(COUNT):
            net(torch.ones(1, 4))


# The parameters, which are the keys of the state, have the size of what is kept for them.
@case(r"optimizer\.state(\[\*\]\['exp_avg(_sq)?'\]|<key>)|optimizer\.param_groups\[0\]\['params'\]\[\*\]")
def state_of_an_optimizer():
    import torch
    global optimizer
    parameters = [torch.nn.Parameter(torch.zeros(SIZE // 4)) for i in range(COUNT)]
    optimizer = torch.optim.Adam(parameters)
    for parameter in parameters:
        parameter.grad = tensor()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)


@case(r"shadows\[\*\]\['weight'\]")
def copies_of_weights():
    import torch
    global shadows
    model = torch.nn.Linear(SIZE // 4, 1, bias=False)
    shadows = []
    for i in range(COUNT):
        shadows.append({k: v.detach().clone() for k, v in model.state_dict().items()})


@case(r"graphs\[\*\].*")
def function_of_its_own():
    import torch
    global graphs

    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(context, x):
            context.save_for_backward(x * 2)
            return x.sum()

        @staticmethod
        def backward(context, gradient):
            return context.saved_tensors[0] * gradient
    leaf = torch.ones(SIZE // 4, requires_grad=True)
    graphs = [Scale.apply(leaf) for i in range(COUNT)]


@case(r"ring\[\*\](\[0\]|\.state)")
def replay_buffer():
    import collections
    global ring
    Step = collections.namedtuple("Step", "state reward")
    ring = collections.deque(maxlen=COUNT)
    for i in range(2 * COUNT):
        ring.append(Step(tensor(), i))


@case(r"epoch_outputs\[\*\]\.logits")
def outputs_of_a_model():
    import dataclasses
    global epoch_outputs

    @dataclasses.dataclass
    class Output:
        logits: object
        loss: float
    epoch_outputs = [Output(tensor(), i) for i in range(COUNT)]


if __name__ == "__main__":
    main()
