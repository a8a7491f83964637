"""Holders made of several containers and objects, as programs have them. See known.py."""
import collections
import dataclasses
import functools
import heapq
import itertools
import re
import types
import typing
import weakref

from known import COUNT, SIZE, Box, blob, case, main


@dataclasses.dataclass
class Epoch:
    number: int
    outputs: list = dataclasses.field(default_factory=list)
    notes: typing.Dict[str, object] = dataclasses.field(default_factory=dict)


# Which of the four has the larger part of the sample is chance.
@case(r"run\.epochs\[[*0-3]\]\.outputs\[\*\]")
def list_in_a_dataclass():
    global run
    run = types.SimpleNamespace(epochs=[Epoch(i) for i in range(4)])
    for i in range(COUNT):
        run.epochs[i % 4].outputs.append(blob(i))


@case(r"record\.notes\['images'\]\[\*\]")
def dict_in_a_dataclass():
    global record
    record = Epoch(0)
    record.notes["images"] = [blob(i) for i in range(COUNT)]


@case(r"alive\[\*\]\.data")
def weak_values_beside_a_list():
    global alive, by_name
    alive, by_name = [], weakref.WeakValueDictionary()
    for i in range(COUNT):
        box = Box()
        box.data = blob(i)
        by_name[str(i)] = box
        alive.append(box)


@case(r"by_owner\.data\[\*\]\[\*\]|by_owner\.data\[\*\]\[0\]")
def weak_keys():
    global by_owner, owners
    by_owner, owners = weakref.WeakKeyDictionary(), {Box() for _ in range(COUNT)}
    for i, owner in enumerate(owners):
        by_owner[owner] = [blob(i)]


class Ring:
    __slots__ = ("items", "at")

    def __init__(self, size):
        self.items, self.at = [None] * size, 0

    def add(self, item):
        self.items[self.at % len(self.items)] = item
        self.at += 1


@case(r"ring\.items\[\*\]\[0\]")
def ring_of_slots():
    global ring
    ring = Ring(COUNT)
    for i in range(3 * COUNT):
        ring.add((blob(i), i))


@case(r"view\.(<inside dict_values>|mapping).*\[\*\]|view\[\*\]")
def view_of_a_dict():
    global view
    view = {i: blob(i) for i in range(COUNT)}.values()


@case(r"frozen\.(<inside mappingproxy>)?\[\*\]|frozen\.<inside mappingproxy>\[\*\]")
def proxy_of_a_dict():
    global frozen
    frozen = types.MappingProxyType({str(i): blob(i) for i in range(COUNT)})


@case(r"tree\['train'\]\[3\]\[<tuple>\]\['x'\]\[\*\]")
def mixed_keys():
    global tree
    tree = {"train": {3: {(1, "a"): {"x": [blob(i) for i in range(COUNT)], None: 1}}, "3": []}, b"train": [0], 7: None}


@case(r"groups\[[*0-2]\]\['rows'\]\[\*\]\[[*1]\]")
def lists_of_dicts_of_lists():
    global groups
    groups = [{"rows": [], "name": i} for i in range(3)]
    for i in range(COUNT):
        groups[i % 3]["rows"].append((i, blob(i)))


class LruDict(collections.OrderedDict):
    def __init__(self, most):
        super().__init__()
        self.most = most

    def put(self, key, value):
        self[key] = value
        if len(self) > self.most:
            self.popitem(last=False)


@case(r"recent\[\*\]\.pixels")
def ordered_dict_with_a_bound():
    global recent
    recent = LruDict(COUNT)
    for i in range(2 * COUNT):
        box = Box()
        box.pixels = blob(i)
        recent.put(("image", i), box)


@case(r"table\['b'\]\[\*\]\['x'\]\[0\]|table\[\*\]\[\*\]\['x'\]\[0\]")
def default_dict_of_default_dicts():
    global table
    table = collections.defaultdict(lambda: collections.defaultdict(functools.partial(dict, x=None)))
    for i in range(COUNT):
        table["b"][i]["x"] = (blob(i),)
    table["a"][0]["y"] = 1


@case(r"later\[\*\]\.(keywords|kw)\['batch'\]")
def keywords_of_partials():
    global later
    later = [functools.partial(print, batch=blob(i), end="") for i in range(COUNT)]


class Handler:
    def __init__(self, i):
        self.frame = blob(i)

    def on_event(self):
        pass


@case(r"handlers\['event'\]\[\*\]\.<self>\.frame")
def bound_methods_of_many():
    global handlers
    handlers = {"event": [Handler(i).on_event for i in range(COUNT)]}


@case(r"jobs\[\*\]\[2\]\.payload")
def heap_of_tuples():
    global jobs
    jobs = []
    for i in range(COUNT):
        job = Box()
        job.payload = blob(i)
        heapq.heappush(jobs, (-i, i, job))


@case(r"settings\.maps\[0\]\[\*\]")
def chain_map():
    global settings
    settings = collections.ChainMap({}, {"a": 1})
    for i in range(COUNT):
        settings[str(i)] = blob(i)


@case(r"(first|second)\.<inside _tee(_dataobject)?>.*")
def branches_of_an_iterator():
    global first, second
    first, second = itertools.tee(blob(i) for i in range(COUNT))
    for item in first:
        pass


@case(r"pending\.<inside map>(\.<inside list_iterator>)?.*\[\*\]")
def lazy_map():
    global pending
    pending = map(len, [blob(i) for i in range(COUNT)])


@case(r"matches\[\*\]\.string|opaque: matches\[\*\]|matches\[\*\]\.<inside .*Match>")
def strings_behind_matches():
    global matches
    matches = [re.match("x", "x" * SIZE) for i in range(COUNT)]


class Lazy:
    def __init__(self, i):
        self.i = i

    def load(self):
        vars(self)["loaded"] = blob(self.i)  # the dict of the instance is made


@case(r"samples\[\*\]\.loaded")
def dict_of_an_instance():
    global samples
    samples = [Lazy(i) for i in range(COUNT)]
    for sample in samples:
        sample.load()


class Base:
    registry = {}

    def __init_subclass__(cls, **more):
        super().__init_subclass__(**more)
        Base.registry[cls.__name__] = cls


@case(r"Base\.registry\[\*\]\.weights|Base\.registry\[.*\]\.weights")
def attributes_of_registered_classes():
    for i in range(COUNT):
        type("Made%d" % i, (Base,), {"weights": blob(i)})


class Batch(dict):
    pass


@case(r"batches\[\*\]\.raw")
def attribute_of_a_dict_subclass():
    global batches
    batches = []
    for i in range(COUNT):
        batch = Batch(labels=[i])
        batch.raw = blob(i)
        batches.append(batch)


@case(r"text\.data\[\*\]|words\.data\[\*\]")
def user_list():
    global words
    words = collections.UserList()
    for i in range(COUNT):
        words.append(blob(i))


if __name__ == "__main__":
    main()
