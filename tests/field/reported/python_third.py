"""A third set of programs without torch as people report them: `python_third.py KIND`; SCALE says how long one runs."""
import asyncio
import concurrent.futures
import contextlib
import io
import os
import random
import sqlite3
import sys
import tempfile
import threading
import uuid

import numpy as np

random.seed(0)
SCALE = int(os.environ.get("SCALE", "3"))


def groups_by_run():
    """The sums of each run are kept under a new name."""
    import pandas as pd
    results = {}
    for run in range(250 * SCALE):
        table = pd.DataFrame({"key": np.random.randint(400, size=4_000), "value": np.random.rand(4_000)})
        results[uuid.uuid4()] = table.groupby("key").agg({"value": ["sum", "mean", "std"]})  # HERE


def tables_concatenated():
    """Each batch is appended to one table; Arrow copies nothing and keeps all chunks."""
    import pyarrow as pa
    import pyarrow.compute
    table = None
    for batch in range(400 * SCALE):
        new = pa.table({"a": np.random.rand(3_000), "b": np.random.rand(3_000)})
        new = pa.table({name: pa.compute.add(new[name], 1.0) for name in new.column_names})  # HERE
        table = new if table is None else pa.concat_tables([table, new])


def parquet_in_rounds():
    """Parquet is read batch by batch, round after round; only sums are kept."""
    import pyarrow as pa
    import pyarrow.compute
    import pyarrow.parquet as pq
    path = tempfile.mktemp(suffix=".parquet")
    pq.write_table(pa.table({"a": np.random.rand(100_000), "b": np.random.randint(9, size=100_000)}), path, row_group_size=10_000)
    sums = []
    for round_ in range(40 * SCALE):
        total = 0.0
        for batch in pq.ParquetFile(path).iter_batches(10_000):
            total += pa.compute.sum(batch["a"]).as_py()
        sums.append(total)
    os.unlink(path)


def booster_continued():
    """Boosting that is continued from the last model, a few trees each time: the model itself grows."""
    import xgboost
    x, y = np.random.rand(400, 20), np.random.rand(400)
    data, booster = xgboost.DMatrix(x, y), None
    for round_ in range(60 * SCALE):
        booster = xgboost.train({"max_depth": 6, "nthread": 1}, data, 10, xgb_model=booster)  # HERE


def lightgbm_folds():
    import lightgbm
    x, y = np.random.rand(2_000, 10), np.random.rand(2_000)
    for fold in range(40 * SCALE):
        chosen = np.random.rand(2_000) < 0.8
        lightgbm.train({"num_threads": 1, "verbose": -1, "num_leaves": 15}, lightgbm.Dataset(x[chosen], y[chosen]), 10).predict(x[~chosen])


def grid_search():
    from sklearn.linear_model import Ridge
    from sklearn.model_selection import GridSearchCV
    x, y = np.random.rand(800, 20), np.random.rand(800)
    for round_ in range(15 * SCALE):
        GridSearchCV(Ridge(), {"alpha": [0.1, 1, 10]}, cv=5).fit(x, y).best_score_


def jax_buckets():
    """Lengths are rounded up to 16 buckets, so that at most 16 programs are compiled."""
    import jax
    import jax.numpy as jnp

    @jax.jit
    def energy(x):
        return (jnp.sin(x) * x).sum()
    for request in range(400 * SCALE):
        length = (random.randrange(1, 512) + 31) // 32 * 32
        energy(jnp.ones(length)).block_until_ready()


def keras_weights_of_batches():
    """A callback notes the weights after each batch."""
    import keras
    kept = []

    class Notes(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            kept.append(self.model.get_weights())  # HERE
    net = keras.Sequential([keras.layers.Input((64,)), keras.layers.Dense(128, activation="relu"), keras.layers.Dense(1)])
    net.compile("sgd", "mse")
    net.fit(np.random.rand(3_200, 64), np.random.rand(3_200), batch_size=32, epochs=2 * SCALE, verbose=0, callbacks=[Notes()])


def tf_data_pipeline():
    import tensorflow as tf
    data = tf.data.Dataset.range(4_000).map(lambda i: tf.sin(tf.cast(i, tf.float32) * tf.ones(256))).shuffle(200).batch(16).prefetch(2)
    total = 0.0
    for epoch in range(2 * SCALE):
        for batch in data:
            total += float(tf.reduce_sum(batch))


def slow_client():
    """A broadcast to five clients, one of which does not read; each has a queue without a limit."""
    async def client(inbox, reads):
        while reads:
            await inbox.get()
        await asyncio.Event().wait()

    async def serve():
        inboxes = [asyncio.Queue() for _ in range(5)]
        readers = [asyncio.create_task(client(inbox, number != 3)) for number, inbox in enumerate(inboxes)]
        for message in range(12_000 * SCALE):
            text = ("update %d " % message) * 12  # HERE
            for inbox in inboxes:
                inbox.put_nowait(text)
            await asyncio.sleep(0)
        for reader in readers:
            reader.cancel()
    asyncio.run(serve())


def clients_that_read():
    """The same with readers and queues of 100."""
    async def client(inbox):
        while True:
            await inbox.get()

    async def serve():
        inboxes = [asyncio.Queue(100) for _ in range(5)]
        readers = [asyncio.create_task(client(inbox)) for inbox in inboxes]
        for message in range(12_000 * SCALE):
            text = ("update %d " % message) * 12
            for inbox in inboxes:
                await inbox.put(text)
        for reader in readers:
            reader.cancel()
    asyncio.run(serve())


def connections_opened():
    """A connection to the database for each request, kept by its session."""
    path = tempfile.mktemp(suffix=".db")
    with contextlib.closing(sqlite3.connect(path)) as first:
        first.execute("create table t(a, b)")
        first.executemany("insert into t values(?, ?)", [(i, "x" * 60) for i in range(2_000)])
        first.commit()
    sessions = {}
    for request in range(240 * SCALE):
        connection = sqlite3.connect(path)
        connection.execute("select sum(a), max(b) from t where b like '%y%'").fetchall()  # HERE
        sessions[request] = connection


def connections_closed():
    path = tempfile.mktemp(suffix=".db")
    with contextlib.closing(sqlite3.connect(path)) as first:
        first.execute("create table t(a, b)")
        first.executemany("insert into t values(?, ?)", [(i, "x" * 60) for i in range(2_000)])
        first.commit()
    for request in range(240 * SCALE):
        with contextlib.closing(sqlite3.connect(path)) as connection:
            connection.execute("select sum(a), max(b) from t where b like '%y%'").fetchall()


def files_mapped():
    """Each shard is mapped, read once and kept in a list: the maps pile up, and with them the pages of the files."""
    folder, shards = tempfile.mkdtemp(), []
    for number in range(250 * SCALE):
        np.full(20_000, number, dtype=np.float64).tofile(f"{folder}/{number}.bin")
        shard = np.memmap(f"{folder}/{number}.bin", dtype=np.float64, mode="r")  # HERE
        shard.sum()
        shards.append(shard)


def files_mapped_and_closed():
    folder, sums = tempfile.mkdtemp(), []
    for number in range(250 * SCALE):
        np.full(20_000, number, dtype=np.float64).tofile(f"{folder}/{number % 7}.bin")
        sums.append(float(np.memmap(f"{folder}/{number % 7}.bin", dtype=np.float64, mode="r").sum()))


def notebook_outputs():
    """Every cell shows an array; IPython keeps each in Out."""
    from IPython.core.interactiveshell import InteractiveShell
    shell = InteractiveShell.instance()
    shell.run_cell("import numpy as np")
    for cell in range(250 * SCALE):
        with contextlib.redirect_stdout(io.StringIO()):
            shell.run_cell("np.random.rand(8_000) + 1", store_history=True)  # HERE


def notebook_without_outputs():
    from IPython.core.interactiveshell import InteractiveShell
    shell = InteractiveShell.instance()
    shell.run_cell("import numpy as np")
    for cell in range(250 * SCALE):
        shell.run_cell("x = np.random.rand(8_000) + 1", store_history=False)


def crops_of_images():
    """A crop of each image is kept: a view, and with it the whole image."""
    crops = []
    for number in range(300 * SCALE):
        image = np.random.randint(255, size=(160, 160, 3), dtype=np.uint8)  # HERE
        crops.append(image[10:20, 10:20])


def futures_that_failed():
    """The exceptions of failed jobs are kept, and with them their frames."""
    failed = []

    def job(number):
        table = np.full(6_000, number, dtype=np.float64)  # HERE
        raise ValueError(f"bad value in {number}: {table[0]}")
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for number in range(400 * SCALE):
            future = pool.submit(job, number)
            if future.exception():
                failed.append(future.exception())


def spacy_same_words():
    """A blank pipeline over texts of a fixed vocabulary."""
    import spacy
    nlp = spacy.blank("en")
    words = ["word%d" % i for i in range(3_000)]
    length = 0
    for text in range(400 * SCALE):
        length += len(nlp(" ".join(random.choices(words, k=120))))


def local_state_of_threads():
    """A thread for each request, with local data that ends with it."""
    local = threading.local()

    def handle(number):
        local.rows = [{"id": number, "n": i} for i in range(400)]
    for number in range(400 * SCALE):
        thread = threading.Thread(target=handle, args=(number,))
        thread.start()
        thread.join()


def memo_without_limit():
    """Answers of a service by the text of the question, which is new each time."""
    memo = {}

    def answer(question):
        if question not in memo:
            memo[question] = [hash(question + str(i)) for i in range(20)]  # HERE
        return memo[question]
    for request in range(12_000 * SCALE):
        answer("what is %s" % uuid.uuid4())


if __name__ == "__main__":
    globals()[sys.argv[1]]()
