"""Programs without torch as people report them: `other_programs.py KIND`."""
import asyncio
import collections
import ctypes
import functools
import json
import logging
import queue
import random
import sqlite3
import subprocess
import sys
import threading
import weakref

import numpy as np

random.seed(0)


def pandas_concat():
    import pandas as pd
    table = pd.DataFrame({"a": np.zeros(0), "b": np.zeros(0)})
    for step in range(400):
        table = pd.concat([table, pd.DataFrame({"a": np.random.rand(500), "b": np.random.rand(500)})])  # HERE


def pandas_reports():
    import pandas as pd
    for step in range(300):
        table = pd.DataFrame({"key": np.random.randint(50, size=5_000), "value": np.random.rand(5_000)})
        table.groupby("key").agg(["mean", "sum"]).to_json()


def events_kept():
    events = []
    for request in range(60_000):
        body = json.loads(json.dumps({"id": request, "user": "u%d" % (request % 97), "tags": ["a", "b", str(request)]}))  # HERE
        events.append(body)


def loggers_per_request():
    for request in range(20_000):
        log = logging.getLogger("request.%d" % request)  # HERE
        log.addHandler(logging.NullHandler())  # HERE
        log.debug("x")


def sqlite_in_memory():
    base = sqlite3.connect(":memory:")
    base.execute("create table t (k integer, v blob)")
    for step in range(6_000):
        base.execute("insert into t values (?, ?)", (step, bytes(4_000)))  # HERE


def arrays_appended():
    history = np.zeros(0)
    for step in range(1_500):
        history = np.append(history, np.random.rand(2_000))  # HERE


def lru_of_arrays():
    @functools.lru_cache(maxsize=200)
    def table(key):
        return np.full(20_000, key, dtype=np.float64)  # HERE
    for step in range(6_000):
        table(random.randrange(2_000)).sum()


def weak_cache():
    class Entry:
        def __init__(self, value):
            self.value = np.full(20_000, value)
    cache = weakref.WeakValueDictionary()
    for step in range(3_000):
        entry = Entry(step)
        cache[step] = entry


def tasks_kept():
    pending = set()

    async def fetch(number):
        body = bytearray(3_000 + number % 7)  # HERE
        await asyncio.sleep(3_600)
        return body

    async def main():
        for number in range(6_000):
            pending.add(asyncio.create_task(fetch(number)))
            await asyncio.sleep(0)
        for task in pending:
            task.cancel()
    asyncio.run(main())


def threads_joined():
    def work(number):
        np.random.rand(50_000).sort()
    for number in range(400):
        thread = threading.Thread(target=work, args=(number,))
        thread.start()
        thread.join()


def c_malloc():
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    libc.malloc.argtypes = [ctypes.c_size_t]
    for step in range(4_000):
        ctypes.memset(libc.malloc(3_000), 1, 3_000)  # HERE
        json.dumps(list(range(200)))


def sessions_expire():
    sessions = {}
    for request in range(8_000):
        sessions[request] = bytearray(20_000)
        sessions.pop(request - 400, None)


def session_store():
    sessions = {}

    class Handler:
        def handle(self, request):
            sessions["s%d" % request] = {"cart": [0.0] * 300, "name": "n" * 200}  # HERE
    handler = Handler()
    for request in range(8_000):
        handler.handle(request)


def queue_grows():
    """A consumer that is too slow."""
    jobs = queue.Queue()

    def consume():
        while True:
            jobs.get()
            jobs.get() if jobs.qsize() > 10**9 else done.wait(0.004)
            if done.is_set():
                return
    done = threading.Event()
    thread = threading.Thread(target=consume)
    thread.start()
    for number in range(3_000):
        jobs.put(bytearray(8_000))  # HERE
        np.random.rand(20_000).sort()
    done.set()
    thread.join()


def queue_bounded():
    jobs = queue.Queue(maxsize=50)

    def consume():
        while jobs.get() is not None:
            pass
    thread = threading.Thread(target=consume)
    thread.start()
    for number in range(3_000):
        jobs.put(bytearray(30_000))
    jobs.put(None)
    thread.join()


def commands():
    for number in range(150):
        subprocess.run([sys.executable, "-S", "-c", "pass"], capture_output=True, check=True)


def memory_map():
    import tempfile
    with tempfile.NamedTemporaryFile() as file:
        data = np.memmap(file, dtype=np.float64, mode="w+", shape=(200, 50_000))
        data[:] = 1
        del data
        data = np.memmap(file, dtype=np.float64, mode="r", shape=(200, 50_000))
        for _ in range(8):
            for row in range(200):
                np.asarray(data[row]).sum()


def xgboost_models():
    import xgboost
    x, y = np.random.rand(2_000, 20), np.random.randint(2, size=2_000)
    models = []
    for fold in range(60):
        models.append(xgboost.train({"max_depth": 6, "nthread": 1}, xgboost.DMatrix(x, y), num_boost_round=8))  # HERE


def xgboost_folds():
    import xgboost
    x, y = np.random.rand(2_000, 20), np.random.randint(2, size=2_000)
    for fold in range(60):
        xgboost.train({"max_depth": 6, "nthread": 1}, xgboost.DMatrix(x, y), num_boost_round=8)


def sklearn_forests():
    from sklearn.ensemble import RandomForestClassifier
    x, y = np.random.rand(500, 10), np.random.randint(2, size=500)
    scores = []
    for fold in range(60):
        scores.append(RandomForestClassifier(10, random_state=fold).fit(x, y).score(x, y))


def jax_new_function():
    import jax
    import jax.numpy as jnp
    kept = []
    for step in range(150):
        f = jax.jit(lambda v, s=step: (v * s).sum())  # HERE
        f(jnp.ones(100))  # HERE
        kept.append(f)


def jax_scan():
    import jax
    import jax.numpy as jnp
    f = jax.jit(lambda w, v: w - 0.1 * jax.grad(lambda q: ((q @ v) ** 2).sum())(w))
    w = jnp.ones((64, 64))
    for step in range(400):
        w = f(w, jnp.ones((64, 64)) * step)


def keras_models():
    import os
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import keras
    for fold in range(60):
        model = keras.Sequential([keras.Input((20,)), keras.layers.Dense(64), keras.layers.Dense(1)])  # HERE
        model.compile("sgd", "mse")
        model.predict(np.random.rand(32, 20), verbose=0)  # HERE


globals()[sys.argv[1]]()
