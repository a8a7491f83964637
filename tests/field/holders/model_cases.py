"""Holders in programs that train, as their frameworks are used. See known.py."""
import tempfile

from known import COUNT, SIZE, case, main
from training_cases import hugging_face_trainer, lightning_trainer, tensor


@case(r"trainer\.data_collator\.seen\[\*\]\['extra'\]")
def collator_of_an_sft_trainer():
    import datasets
    import tokenizers
    import transformers
    import trl
    global trainer

    class Collator:
        def __init__(self):
            self.seen = []

        def __call__(self, rows):
            import torch
            ids = torch.tensor([row["input_ids"] for row in rows])
            self.seen.append({"input_ids": ids, "extra": tensor()})
            return {"input_ids": ids, "labels": ids.clone(), "attention_mask": torch.ones_like(ids)}
    words = {"<unk>": 0, "<s>": 1, "</s>": 2, "a": 3}
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="<unk>")), unk_token="<unk>",
        bos_token="<s>", eos_token="</s>", pad_token="</s>")
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(vocab_size=8, n_positions=16, n_embd=8, n_layer=1,
                                                                 n_head=1))
    data = datasets.Dataset.from_dict({"input_ids": [[3, 3, 3, 3]] * COUNT})
    with tempfile.TemporaryDirectory() as folder:
        options = trl.SFTConfig(folder, per_device_train_batch_size=1, num_train_epochs=1, report_to=[], use_cpu=True,
                                save_strategy="no", disable_tqdm=True, bf16=False, gradient_checkpointing=False,
                                dataset_kwargs={"skip_prepare_dataset": True}, remove_unused_columns=False)
        trainer = trl.SFTTrainer(model, args=options, train_dataset=data, processing_class=tokenizer,
                                 data_collator=Collator())
        trainer.train()


@case(r"trainer\.compute_loss_func\.<closure history>\[\*\]|trainer\..*<closure history>\[\*\]")
def closure_of_a_loss_function():
    import torch
    import transformers  # noqa: F401
    global trainer

    def make():
        history = []

        def loss(outputs, labels, num_items_in_batch=None):
            history.append(tensor())
            return (outputs["logits"] - labels).pow(2).mean()
        return loss
    with tempfile.TemporaryDirectory() as folder:
        trainer = hugging_face_trainer(folder)
        trainer.compute_loss_func = make()

        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(4, 1)

            def forward(self, x, labels=None):
                return {"logits": self.layer(x)}
        trainer.model = trainer.model_wrapped = Net()
        trainer.train()


@case(r"model\.validation_step_outputs\[\*\]")
def outputs_of_validation():
    import lightning
    import torch
    global model

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer, self.validation_step_outputs = torch.nn.Linear(4, 1), []

        def training_step(self, batch, index):
            return self.layer(batch).mean()

        def validation_step(self, batch, index):
            self.validation_step_outputs.append(tensor())

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 0.1)
    model = Module()
    loader = torch.utils.data.DataLoader(torch.ones(COUNT, 4))
    lightning_trainer().fit(model, loader, loader)


@case(r"score\.preds\[\*\]")
def list_state_of_a_metric():
    import torch
    import torchmetrics
    global score

    class Score(torchmetrics.Metric):
        def __init__(self):
            super().__init__()
            self.add_state("preds", default=[], dist_reduce_fx="cat")

        def update(self, preds):
            self.preds.append(preds)

        def compute(self):
            return torch.cat(self.preds).mean()
    score = Score()
    for i in range(COUNT):
        score.update(tensor())


@case(r"net\.features\[\*\]")
def attribute_of_a_module():
    import torch
    global net

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.features = torch.nn.Linear(4, SIZE // 4), []

        def forward(self, x):
            y = self.layer(x)
            self.features.append(y.detach())
            return y
    net = Net()
    with torch.no_grad():
        for i in range(COUNT):
            net(torch.ones(1, 4))


@case(r"net\._buffers\[\*\]")
def buffers_of_a_module():
    import torch
    global net
    net = torch.nn.Module()
    for i in range(COUNT):
        net.register_buffer("step%d" % i, tensor())


@case(r"net\..*<closure inputs_seen>\[\*\](\[0\])?")
def closure_of_a_pre_hook():
    import torch
    global net
    net = torch.nn.Sequential(torch.nn.Linear(SIZE // 4, 1))

    def watch(module):
        inputs_seen = []
        module.register_forward_pre_hook(lambda module, inputs: inputs_seen.append(inputs))
    watch(net[0])
    with torch.no_grad():
        for i in range(COUNT):
            net(torch.ones(1, SIZE // 4))


@case(r"stream\.window\[\*\]\['x'\]|loader\.dataset\.window\[\*\]\['x'\]")
def window_of_an_iterable_dataset():
    import collections
    import torch
    global loader

    class Stream(torch.utils.data.IterableDataset):
        def __init__(self):
            self.window = collections.deque(maxlen=1000)

        def __iter__(self):
            for i in range(COUNT):
                self.window.append({"x": tensor(), "i": i})
                yield i
    loader = torch.utils.data.DataLoader(Stream(), batch_size=None)
    for batch in loader:
        pass


@case(r"traces\[\*\].*<graph.*")
def outputs_with_their_graph():
    import torch
    global traces
    traces = {}
    layer = torch.nn.Linear(8, SIZE // 4)
    for i in range(COUNT):
        traces["step", i] = {"logits": torch.tanh(layer(torch.ones(1, 8))).sum(), "step": i}


@case(r"packed\.<closure store>\[\*\]|.*<closure store>\[\*\]")
def hooks_of_saved_tensors():
    import torch
    global packed

    def make():
        store = []

        def pack(x):
            store.append(x.detach().clone())
            return len(store)
        return pack
    packed = make()
    with torch.autograd.graph.saved_tensors_hooks(packed, lambda i: None):
        for i in range(COUNT):
            torch.ones(SIZE // 4, requires_grad=True).exp().sum()


NATIVE_OBJECT = r"""
#include <torch/extension.h>
struct Pool {
  std::vector<torch::Tensor> tensors;
  std::map<int, torch::Tensor> by_number;
  void add(int i, torch::Tensor tensor) { if (i % 2 == 0) tensors.push_back(tensor); else by_number[i] = tensor; }
};
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { pybind11::class_<Pool>(m, "Pool").def(pybind11::init<>()).def("add", &Pool::add); }
"""


# The object says nothing of what it holds. It may be named, or nobody.
@case(r"opaque: pool.*|pool.*|not_found|native_block")
def tensors_in_an_object_of_cxx():
    import os
    import torch
    import torch.utils.cpp_extension
    global pool
    folder = tempfile.mkdtemp()
    preload = os.environ.pop("LD_PRELOAD", None)
    native = torch.utils.cpp_extension.load_inline("pool_of_tensors", NATIVE_OBJECT, build_directory=folder)
    if preload is not None:
        os.environ["LD_PRELOAD"] = preload
    pool = native.Pool()
    for i in range(COUNT):
        pool.add(i, torch.ones(SIZE // 4))


if __name__ == "__main__":
    main()
