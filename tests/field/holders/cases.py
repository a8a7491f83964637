"""Programs with a known holder: `cases.py NAME` builds one and asks for a walk.

Each case keeps COUNT blocks of about SIZE bytes by one reference path, which its line in EXPECTED names as the walk
shall: a regular expression for the whole path, or the kind of end where there is none. Run by run.py.
"""
import array
import asyncio
import atexit
import collections
import contextvars
import ctypes
import functools
import gc
import logging
import queue
import sys
import threading
import types
import weakref

COUNT, SIZE = 24, 200_001
EXPECTED = {}
CASES = {}


def case(expected):
    def add(function):
        EXPECTED[function.__name__] = expected
        CASES[function.__name__] = function
        return function
    return add


def blob(i=0):
    return bytearray(SIZE)


def ask():
    return ctypes.PyDLL(None).plateau_mark_holders()


class Box:
    pass


class Slots:
    __slots__ = ("data", "next")


# ---- Containers ----
keep = None


@case(r"keep\[\*\]")
def list_of_bytearrays():
    global keep
    keep = [blob(i) for i in range(COUNT)]


@case(r"keep\[\*\]")
def list_of_bytes():
    global keep
    keep = [bytes(SIZE) for i in range(COUNT)]


@case(r"keep\[\*\]")
def list_of_texts():
    global keep
    keep = ["x" * SIZE for i in range(COUNT)]


@case(r"keep\[\*\]")
def list_of_lists():
    global keep
    keep = [[None] * (SIZE // 8) for i in range(COUNT)]


@case(r"keep\[\*\]")
def list_of_tuples():
    global keep
    keep = [tuple([None] * (SIZE // 8)) for i in range(COUNT)]


@case(r"keep\[\*\]")
def list_of_dicts():
    global keep
    keep = [dict.fromkeys(range(5000)) for i in range(COUNT)]


@case(r"keep\[\*\]")
def list_of_sets():
    global keep
    keep = [set(range(12000)) for i in range(COUNT)]


@case(r"keep\[\*\]")
def list_of_arrays():
    global keep
    keep = [array.array("d", bytes(SIZE // 8 * 8)) for i in range(COUNT)]


@case(r"keep\[\*\]")
def dict_by_number():
    global keep
    keep = {i: blob(i) for i in range(COUNT)}


@case(r"keep\[\*\]\.pixel_values")
def dict_of_objects():
    global keep
    keep = {}
    for i in range(COUNT):
        box = keep[str(i)] = Box()
        box.pixel_values = blob(i)


@case(r"keep\[\*\]\['pixel_values'\]")
def list_of_batches():
    global keep
    keep = [{"pixel_values": blob(i), "labels": i} for i in range(COUNT)]


@case(r"keep\[\*\]\[1\]")
def untracked_tuples():
    global keep
    keep = [(i, bytes(SIZE)) for i in range(COUNT)]
    gc.collect()


@case(r"keep\[\*\]\['a'\]")
def untracked_dicts():
    global keep
    keep = [{"a": bytes(SIZE)} for i in range(COUNT)]
    gc.collect()


@case(r"keep\[\*\]")
def deque_with_limit():
    global keep
    keep = collections.deque(maxlen=COUNT)
    for i in range(3 * COUNT):
        keep.append(blob(i))


@case(r"keep\{\*\}")
def set_of_bytes():
    global keep
    keep = {bytes([i]) * SIZE for i in range(COUNT)}


@case(r"keep<key>")
def dict_keys():
    global keep
    keep = {(bytes([i]) * SIZE, i): 1 for i in range(COUNT)}
    keep = {bytes([i]) * SIZE: 1 for i in range(COUNT)}


@case(r"keep\['a'\]\['b'\]\['c'\]\[\*\]")
def nested_dicts():
    global keep
    keep = {"a": {"b": {"c": [blob(i) for i in range(COUNT)]}}}


@case(r"keep\[\*\]")
def ordered_dict():
    global keep
    keep = collections.OrderedDict((i, blob(i)) for i in range(COUNT))


@case(r"keep\['x'\]\[\*\]")
def default_dict():
    global keep
    keep = collections.defaultdict(list)
    for i in range(COUNT):
        keep["x"].append(blob(i))


Pair = collections.namedtuple("Pair", "name data")


@case(r"keep\[\*\](\[1\]|\.data)")
def named_tuples():
    global keep
    keep = [Pair(i, blob(i)) for i in range(COUNT)]


# ---- Objects ----
class Meter:
    def __init__(self):
        self.history = []


class Trainer:
    def __init__(self):
        self.meter = Meter()


@case(r"trainer\.meter\.history\[\*\]\['loss'\]")
def attribute_of_attribute():
    global trainer
    trainer = Trainer()
    for i in range(COUNT):
        trainer.meter.history.append({"loss": blob(i)})


class Callback:
    def __init__(self):
        self.seen = []


class Handler:
    def __init__(self):
        self.callbacks = [Box(), Box(), Callback()]


@case(r"trainer\.callback_handler\.callbacks\[2\]\.seen\[\*\]\['pixel_values'\]")
def callback_of_trainer():
    global trainer
    trainer = Box()
    trainer.callback_handler = Handler()
    for i in range(COUNT):
        trainer.callback_handler.callbacks[2].seen.append({"pixel_values": blob(i)})


@case(r"keep\[\*\]\.data")
def slots():
    global keep
    keep = []
    for i in range(COUNT):
        keep.append(Slots())
        keep[-1].data = blob(i)


@case(r"keep\.next(\.next)*\+?.*data")
def linked_list():
    global keep
    keep = None
    for i in range(COUNT):
        node = Slots()
        node.data, node.next = blob(i), keep
        keep = node


class Registry:
    instances = []


@case(r"Registry\.instances\[\*\]")
def class_attribute():
    for i in range(COUNT):
        Registry.instances.append(blob(i))


class Dataset:
    def __init__(self):
        self.cache = {}

    def __getitem__(self, i):
        self.cache[i] = blob(i)
        return self.cache[i]


@case(r"dataset\.cache\[\*\]")
def cache_of_dataset():
    global dataset
    dataset = Dataset()
    for i in range(COUNT):
        dataset[i]


class WithProperty:
    @functools.cached_property
    def all(self):
        return [blob(i) for i in range(COUNT)]


@case(r"keep\.all\[\*\]")
def cached_property():
    global keep
    keep = WithProperty()
    keep.all


class ManyAttributes:
    pass


@case(r"keep\.a\d+|keep\.\*")
def attributes_without_number():
    global keep
    keep = ManyAttributes()
    for i in range(COUNT):
        setattr(keep, "a%d" % i, blob(i))


# ---- Functions ----
@case(r"keep\.<closure kept>\[\*\]")
def closure():
    global keep

    def make():
        kept = []

        def hook(i):
            kept.append(blob(i))
        return hook
    keep = make()
    for i in range(COUNT):
        keep(i)


@case(r"default_list\.<default kept>\[\*\]")
def default_argument():
    global default_list

    def default_list(i, kept=[]):
        kept.append(blob(i))
    for i in range(COUNT):
        default_list(i)


@case(r"default_keyword\.<default kept>\[\*\]")
def default_of_keyword():
    global default_keyword

    def default_keyword(i, *, kept=[]):
        kept.append(blob(i))
    for i in range(COUNT):
        default_keyword(i)


@case(r"keep\.args\[0\]\[\*\]|keep\.args\[\*\]\[\*\]")
def partial():
    global keep
    keep = functools.partial(print, [blob(i) for i in range(COUNT)])


@functools.lru_cache(maxsize=None)
def load(i):
    return blob(i)


@case(r"load\[\*\]")
def lru_cache():
    for i in range(COUNT):
        load(i)


class Loader:
    @functools.lru_cache(maxsize=1000)
    def load(self, i):
        return blob(i)


@case(r"Loader\.load\[\*\]")
def lru_cache_of_method():
    loader = Loader()
    for i in range(COUNT):
        loader.load(i)


@case(r"keep\[0\]\.<self>\.seen\[\*\]")
def bound_method():
    global keep
    callback = Callback()
    callback.seen = [blob(i) for i in range(COUNT)]
    callback.run = None

    class Runner(Callback):
        def run(self):
            pass
    runner = Runner()
    runner.seen = callback.seen
    del callback
    keep = [runner.run]
    del runner


@case(r"decorated\.(store|__wrapped__.*)\[\*\]")
def attribute_of_function():
    global decorated

    def decorated():
        pass
    decorated.store = [blob(i) for i in range(COUNT)]


# ---- Frames ----
@case(r"main\(\) local\[\*\]")
def local_of_main():
    pass


@case(r"(worker|run)\(\) (held|work)\[\*\]")
def local_of_thread():
    global keep
    go, done = threading.Event(), threading.Event()

    def worker():
        held = [blob(i) for i in range(COUNT)]
        go.set()
        done.wait()
        del held
    thread = threading.Thread(target=worker, daemon=True)
    thread.start()
    go.wait()
    keep = done


@case(r"keep\.<generator produce> held\[\*\]")
def generator():
    global keep

    def produce():
        held = []
        while True:
            held.append(blob())
            yield len(held)
    keep = produce()
    for i in range(COUNT):
        next(keep)


@case(r"keep\.<generator consume> held\[\*\]")
def coroutine():
    global keep

    @types.coroutine
    def pause():
        yield

    async def consume():
        held = []
        while True:
            held.append(blob())
            await pause()
    keep = consume()
    for i in range(COUNT):
        keep.send(None)
    atexit.register(keep.close)


@case(r"stored(\[\d\])?\.<traceback>fail\(\) data\[\*\]")
def stored_exception():
    global stored

    def fail():
        data = [blob(i) for i in range(COUNT)]
        raise ValueError(len(data))
    try:
        fail()
    except ValueError as error:
        stored = error


@case(r"stored\[\*\]\.<traceback>fail\(\) data")
def many_exceptions():
    global stored
    stored = []

    def fail():
        data = blob()
        raise ValueError(len(data))
    for i in range(COUNT):
        try:
            fail()
        except ValueError as error:
            stored.append(error)


@case(r"(sys\.last_(exc|value)|sys\.last_traceback).*fail\(\) data\[\*\]")
def last_exception():
    def fail():
        data = [blob(i) for i in range(COUNT)]
        raise ValueError(len(data))
    try:
        fail()
    except ValueError as error:
        sys.last_value = error
        sys.last_exc = error


@case(r"stored\.(args\[0\]|args\[\*\])\[\*\]|stored\.payload\[\*\]")
def exception_arguments():
    global stored
    stored = ValueError([blob(i) for i in range(COUNT)])


@case(r"stored\.<__context__>\.<traceback>fail\(\) data\[\*\]|stored\.<traceback>.*fail\(\) data\[\*\]")
def context_of_exception():
    global stored

    def fail():
        data = [blob(i) for i in range(COUNT)]
        raise KeyError(len(data))
    try:
        try:
            fail()
        except KeyError:
            raise ValueError("second")
    except ValueError as error:
        stored = error


# ---- Parts of the library ----
@case(r"local\..*data\[\*\]|.*\['data'\]\[\*\]|.*\.data\[\*\]")
def thread_local():
    global local
    local = threading.local()
    local.data = [blob(i) for i in range(COUNT)]


@case(r".*<context keep_in_context>\[\*\]")
def context_variable():
    variable = contextvars.ContextVar("keep_in_context")
    variable.set([blob(i) for i in range(COUNT)])


@case(r".*\.buffer\[\*\].*|.*records\[\*\].*")
def logging_handler():
    class Keeps(logging.Handler):
        def __init__(self):
            super().__init__()
            self.records = []

        def emit(self, record):
            self.records.append(record)
    logging.getLogger("case").addHandler(Keeps())
    for i in range(COUNT):
        logging.getLogger("case").warning("%s", blob(i)) if False else logging.getLogger("case").handle(
            logging.LogRecord("case", logging.WARNING, "f", i, "m", (i, blob(i)), None))


@case(r"keep\.<weak callback>.*kept.*\[\*\]")
def weakref_callback():
    global keep, watched
    watched = Box()

    def make():
        kept = [blob(i) for i in range(COUNT)]

        def callback(_):
            kept.clear()
        return callback
    keep = weakref.ref(watched, make())


@case(r"keep\.queue\[\*\]")
def prefetch_queue():
    global keep
    keep = queue.Queue()
    for i in range(COUNT):
        keep.put(blob(i))


@case(r"keep\[\*\].*")
def memory_views():
    global keep
    keep = [memoryview(blob(i)) for i in range(COUNT)]


@case(r"keep\[\*\]")
def ctypes_buffers():
    global keep
    keep = [ctypes.create_string_buffer(SIZE) for i in range(COUNT)]


@case("not_found|native.*|unreachable|opaque")
def ctypes_pointers():
    # The address alone keeps nothing: nobody may be named for it.
    global keep
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    keep = [ctypes.c_void_p(libc.malloc(SIZE)) for i in range(COUNT)]


@case("native_block")
def native_block():
    # A block of malloc that a C library could have made, full of addresses that nobody else knows.
    global keep
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    table = libc.malloc(40_000)
    ctypes.memset(table, 0, 40_000)
    entries = (ctypes.c_uint64 * 5_000).from_address(table)
    for i in range(COUNT):
        entries[i] = libc.malloc(SIZE)
    keep = table


@case(r"keep\.(_tasks\[\*\]|.*)<generator hold> .*\[\*\]")
def asyncio_task():
    global keep

    async def hold(loop):
        held = [blob(i) for i in range(COUNT)]
        await asyncio.sleep(1000)
        del held

    async def main():
        global keep
        keep = asyncio.ensure_future(hold(None))
        await asyncio.sleep(0)
        ask()
        keep.cancel()
    asyncio.run(main())
    return "asked"


@case("garbage")
def garbage_cycle():
    gc.disable()
    for i in range(COUNT):
        a, b = Box(), Box()
        a.other, b.other, a.data = b, a, blob(i)


@case("garbage")
def garbage_of_closures():
    gc.disable()
    for i in range(COUNT):
        def one(data=blob(i)):
            return one
        del one

    def make(i):
        data = blob(i)

        def inner():
            return inner, data
    for i in range(COUNT):
        make(i)


class WithDel:
    def __del__(self):
        pass


@case("garbage")
def garbage_with_del():
    gc.disable()
    for i in range(COUNT):
        a = WithDel()
        a.me, a.data = a, blob(i)
        del a


@case(r"keep\[\*\]")
def frozen_objects():
    global keep
    keep = [[blob(i)] for i in range(COUNT)]
    gc.freeze()
    keep = [x[0] for x in keep]


@case(r"extra_module\.kept\[\*\]")
def other_module():
    module = types.ModuleType("extra_module")
    sys.modules["extra_module"] = module
    module.kept = [blob(i) for i in range(COUNT)]


@case(r"builtins\.kept\[\*\]")
def in_builtins():
    import builtins
    builtins.kept = [blob(i) for i in range(COUNT)]


@case(r"ids\[\*\]\.data")
def subclass_of_list():
    global ids

    class Ids(list):
        pass
    ids = Ids()
    for i in range(COUNT):
        box = Box()
        box.data = blob(i)
        ids.append(box)


@case(r"keep\.items\[\*\]")
def attribute_of_list_subclass():
    global keep

    class Ids(list):
        pass
    keep = Ids()
    keep.items = [blob(i) for i in range(COUNT)]


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


# ---- More of the standard library ----
@case(r"keep\._buffer\[\*\].*")
def multiprocessing_queue():
    import multiprocessing
    global keep
    keep = multiprocessing.Queue()
    for i in range(COUNT):
        keep.put(bytes(SIZE))
    # What the pipe cannot take stays in the buffer.
    keep.cancel_join_thread()


@case(r"keep\._exception\.<traceback>.*fail\(\) data\[\*\]")
def exception_of_future():
    import concurrent.futures
    global keep

    def fail():
        data = [blob(i) for i in range(COUNT)]
        raise ValueError(len(data))
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        keep = pool.submit(fail)
        keep.exception()


@case(r"keep(\.<inside cycle>)+.*\[\*\]")
def iterator():
    import itertools
    global keep
    keep = itertools.cycle([blob(i) for i in range(COUNT)])
    for i in range(COUNT + 1):
        next(keep)


@case(r"keep\.data\[\*\]")
def simple_namespace():
    global keep
    keep = types.SimpleNamespace(data=[blob(i) for i in range(COUNT)])


@case(r"keep\..*(call_args_list|mock_calls|_mock).*")
def mock_calls():
    import unittest.mock
    global keep
    keep = unittest.mock.Mock()
    for i in range(COUNT):
        keep(blob(i))


@case(r"opaque: keep\[\*\]|keep\[\*\].*")
def bytes_io():
    import io
    global keep
    keep = []
    for i in range(COUNT):
        keep.append(io.BytesIO())
        keep[-1].write(bytes(SIZE))


@case(r"keep\.<function>\.<closure kept>\[\*\]|keep\.<self>\.kept\[\*\]|keep\..*<closure kept>\[\*\]")
def static_method_closure():
    global keep

    class Holder:
        pass

    def make():
        kept = [blob(i) for i in range(COUNT)]

        def use(self):
            return kept
        return use
    Holder.use = make()
    keep = Holder().use


@case(r"Chosen\.<inside.*|Chosen\.ONE.*\[\*\]")
def enum_member():
    import enum
    global Chosen

    class Chosen(enum.Enum):
        ONE = 1
    Chosen.ONE.data = [blob(i) for i in range(COUNT)]


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


def main():
    name = sys.argv[1]
    if CASES[name]() == "asked":
        return
    if name == "local_of_main":
        local = [blob(i) for i in range(COUNT)]
    ask()


if __name__ == "__main__":
    main()
