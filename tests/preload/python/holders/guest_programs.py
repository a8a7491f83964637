"""Programs in which a walk for holders must change nothing: guest_programs.py NAME; guest_test.py runs them."""
import ctypes
import gc
import os
import sys
import tempfile
import threading
import time

holders = ctypes.PyDLL(None).plateau_mark_holders


class Node:
    def __init__(self, i):
        self.i, self.text, self.data = i, "t%d" % i, bytearray(20001)


def counts():
    """Reference counts keep the values apart from the objects, so that nothing of ours changes them."""
    every = gc.get_objects()
    return [sys.getrefcount(o) for o in every], every


def reference_counts():
    kept = [Node(i) for i in range(300)]
    kept += [(lambda x: lambda: x)(i) for i in range(100)] + [{i: (i, [i])} for i in range(100)]
    gc.disable()
    holders()  # what a first call makes is there
    every = gc.get_objects()
    before = [sys.getrefcount(o) for o in every]
    result = holders()
    after = [sys.getrefcount(o) for o in every]
    # `before` itself is the one object that has appeared.
    changed = [(type(o), b, a) for o, b, a in zip(every, before, after) if a != b and o is not before]
    print(result > 0, len(every) > 5000, [c for c in changed if c[0] is not list][:5])


def private_kb():
    with open("/proc/self/smaps_rollup") as lines:
        return sum(int(line.split()[1]) for line in lines if line.startswith("Private_Dirty"))


def forked():
    kept = [[i, str(i), {i: i}] for i in range(150_000)]
    data = [bytearray(20001) for _ in range(50)]
    gc.disable()
    gc.freeze()
    # A page that the parent writes to meanwhile becomes the child's own, too: several children are asked.
    for attempt in range(5):
        pid = os.fork()
        if pid == 0:
            more = [bytearray(20001) for _ in range(50)]
            private_kb()
            before = private_kb()
            found = holders()
            copied = private_kb() - before
            # 150,000 lists, texts and dicts are 60 MB; a walk that counts references would have copied them.
            sys.stderr.write("found %d, copied %d kB\n" % (found, copied))
            os._exit(0 if found > 0 and copied < 4096 else 1)
        if os.WEXITSTATUS(os.waitpid(pid, 0)[1]) == 0:
            print(0)
            break
    del kept, data


def importing():
    folder = tempfile.mkdtemp()
    sys.path.insert(0, folder)
    with open(os.path.join(folder, "half_done.py"), "w") as file:
        file.write("import __main__\nkept = [bytearray(20001) for _ in range(50)]\nfound = __main__.holders()\n"
                   "import xml.dom.minidom\n")
    import half_done
    print(half_done.found > 0)


def threads():
    stop = threading.Event()
    rounds = [0] * 8

    def work(n):
        kept = []
        while not stop.is_set():
            kept.append({"a": bytearray(20001 + n), "b": [n] * 100, "c": Node(n)})
            if len(kept) > 50:
                del kept[:25]
            rounds[n] += 1
    workers = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for worker in workers:
        worker.start()
    walks = 0
    while walks < 10:
        walks += holders() >= 0
        time.sleep(0.005)
    stop.set()
    for worker in workers:
        worker.join()
    print(walks, min(rounds) > 0)


def at_the_end():
    import atexit

    class Last:
        def __del__(self):
            holders()
    global last
    last = Last()
    last.data = [bytearray(20001) for _ in range(50)]
    atexit.register(holders)
    print("ends")


def inside_collection():
    class Asks:
        def __del__(self):
            Asks.answers.append(holders())
    Asks.answers = []
    kept = [bytearray(20001) for _ in range(50)]
    for i in range(20):
        a = Asks()
        a.me = a
        del a
    gc.collect()
    print(len(Asks.answers), set(Asks.answers) <= {-1, len(kept)})


def steps():
    """Until the file of the second argument is there: the test has seen a look, however busy the machine is."""
    step = ctypes.CDLL(None).plateau_mark_step
    kept = []
    while not os.path.exists(sys.argv[2]):
        kept.append(bytearray(20001))
        step(None)
        time.sleep(0.02)
    print(len(kept) > 32)


if __name__ == "__main__":
    globals()[sys.argv[1]]()
