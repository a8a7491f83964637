"""Holders that are containers or attributes of objects. See known.py."""
import array
import collections
import functools
import gc

from known import COUNT, SIZE, Box, Callback, Slots, blob, case, main

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


@case(r"keep\[\*\]\['hf_\*\*\*'\]")
def secret_keys():
    global keep
    keep = [{"hf_abcdefghijklmnopqrst": blob(i), "labels": i} for i in range(COUNT)]


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


if __name__ == "__main__":
    main()
