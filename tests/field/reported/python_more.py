"""More programs without torch as people report them: `python_more.py KIND`; SCALE says how long one runs."""
import collections
import functools
import http.client
import http.server
import io
import logging
import logging.handlers
import os
import random
import re
import sys
import tempfile
import threading
import uuid
import weakref

import numpy as np

random.seed(0)
SCALE = int(os.environ.get("SCALE", "3"))


def views_of_tables():
    """Ten values of each table are kept, as a view of a whole column."""
    import pandas as pd
    samples = []
    for day in range(300 * SCALE):
        table = pd.DataFrame({"price": np.random.rand(20_000)})  # HERE
        samples.append(table["price"].to_numpy()[:10])


def polars_kept():
    import polars as pl
    tables = []
    for day in range(300 * SCALE):
        table = pl.DataFrame({"key": np.random.randint(50, size=5_000), "value": np.random.rand(5_000)})
        tables.append(table.sort("value").with_columns((pl.col("value") * 2).alias("twice")))  # HERE


def arrow_rows():
    """One row of each batch of a file is kept, and with it the whole batch."""
    import pyarrow as pa
    path = tempfile.mktemp(suffix=".arrow")
    schema = pa.schema([("a", pa.float64()), ("b", pa.float64())])
    with pa.OSFile(path, "wb") as sink, pa.ipc.new_stream(sink, schema) as writer:
        for _ in range(60):
            writer.write_batch(pa.record_batch([pa.array(np.random.rand(8_000)), pa.array(np.random.rand(8_000))], schema=schema))
    rows = []
    for round_ in range(5 * SCALE):
        with pa.OSFile(path, "rb") as source:
            for batch in pa.ipc.open_stream(source):  # HERE
                rows.append(batch.slice(0, 1))
    os.unlink(path)


def encodings_kept():
    from tokenizers import Tokenizer, models, pre_tokenizers
    words = ["w%d" % i for i in range(2_000)]
    tokenizer = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="w0"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    encodings = []
    for batch in range(600 * SCALE):
        texts = [" ".join(random.choices(words, k=40)) for _ in range(8)]
        encodings.extend(tokenizer.encode_batch(texts))  # HERE


def encodings_as_ids():
    from tokenizers import Tokenizer, models, pre_tokenizers
    words = ["w%d" % i for i in range(2_000)]
    tokenizer = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="w0"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    total = 0
    for batch in range(600 * SCALE):
        texts = [" ".join(random.choices(words, k=40)) for _ in range(8)]
        total += sum(len(e.ids) for e in tokenizer.encode_batch(texts))


def spacy_docs():
    import spacy
    nlp = spacy.blank("en")
    words = ["alpha", "beta", "gamma", "delta", "one", "two"]
    docs = []
    for doc in nlp.pipe(" ".join(random.choices(words, k=60)) for _ in range(3_000 * SCALE)):  # HERE
        docs.append(doc)


def http_cached_queries():
    """A service with lru_cache(maxsize=None) on unique queries."""
    @functools.lru_cache(maxsize=None)
    def render(path):
        return ("<p>" + path * 60 + "</p>").encode()  # HERE

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1

        def do_GET(self):
            body = render(self.path)
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port)
    for request in range(6_000 * SCALE):
        connection.request("GET", "/search?q=%s" % uuid.uuid4())
        connection.getresponse().read()
    server.shutdown()


def http_common_queries():
    """The same with 300 different queries."""
    @functools.lru_cache(maxsize=None)
    def render(path):
        return ("<p>" + path * 60 + "</p>").encode()

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1

        def do_GET(self):
            body = render(self.path)
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port)
    for request in range(6_000 * SCALE):
        connection.request("GET", "/search?q=%d" % random.randrange(300))
        connection.getresponse().read()
    server.shutdown()


def finalizers():
    """weakref.finalize on an object that lives as long as the program."""
    class Engine:
        pass
    engine = Engine()
    for job in range(30_000 * SCALE):
        result = bytearray(600)  # HERE
        weakref.finalize(engine, len, result)


def log_buffered():
    """A MemoryHandler that waits for an error."""
    handler = logging.handlers.MemoryHandler(10 ** 9, flushLevel=logging.CRITICAL, target=logging.NullHandler())
    log = logging.getLogger("app")
    log.setLevel(logging.INFO)
    log.propagate = False
    log.addHandler(handler)
    for event in range(40_000 * SCALE):
        log.info("event %d of user %s", event, "u%d" % (event % 91))  # HERE


def patterns_compiled():
    """Different regular expressions; re keeps at most 512."""
    for query in range(4_000 * SCALE):
        re.search("item-%d(a|b)*[0-9]{2,5}x" % query, "item-77aabb123x")


def window_of_events():
    """A sliding window of the last 5,000 events, by key."""
    window = collections.OrderedDict()
    for event in range(60_000 * SCALE):
        window[event] = {"id": event, "payload": "x" * (event % 700)}
        if len(window) > 5_000:
            window.popitem(last=False)


def jax_static_step():
    """The step number is static, so each step is compiled anew."""
    import jax
    import jax.numpy as jnp

    @functools.partial(jax.jit, static_argnums=1)
    def update(state, step):
        return state * 0.99 + jnp.sin(state) * step
    state = jnp.ones(256)
    for step in range(150 * SCALE):
        state = update(state, step)  # HERE


def jax_history():
    import jax
    import jax.numpy as jnp
    update = jax.jit(lambda state: state * 0.99 + jnp.sin(state))
    state, history = jnp.ones(16_384), []
    for step in range(600 * SCALE):
        state = update(state)  # HERE
        history.append(state)


def gym_records():
    """Observations of all episodes, for a video at the end."""
    import gymnasium
    environment = gymnasium.make("CartPole-v1")
    frames = []
    for episode in range(400 * SCALE):
        environment.reset(seed=episode)
        ended = False
        while not ended:
            observation, _, terminated, truncated, info = environment.step(environment.action_space.sample())
            frames.append(np.repeat(observation, 64))  # HERE
            ended = terminated or truncated


def lightgbm_models():
    """A model for each customer, all kept with their training data."""
    import lightgbm as lgb
    models = []
    for customer in range(60 * SCALE):
        data = lgb.Dataset(np.random.rand(2_000, 20), np.random.rand(2_000), free_raw_data=False, params={"verbose": -1, "num_threads": 1})
        models.append((lgb.train({"verbose": -1, "num_threads": 1, "num_leaves": 15}, data, 10), data))  # HERE


def sklearn_models():
    """Nearest neighbours keep their training data; each fold's is kept."""
    from sklearn.neighbors import KNeighborsClassifier
    folds = []
    for fold in range(200 * SCALE):
        x = np.random.rand(2_000, 20)  # HERE
        folds.append(KNeighborsClassifier().fit(x, np.random.randint(3, size=2_000)))


def tf_scalars():
    """A tf.function is traced anew for each Python number."""
    import tensorflow as tf

    @tf.function
    def update(state, rate):
        return state * 0.9 + tf.sin(state) * rate
    state = tf.ones(64)
    for step in range(200 * SCALE):
        state = update(state, step / 1000)  # HERE


def tf_tensors():
    """The same with tensors: traced once."""
    import tensorflow as tf

    @tf.function
    def update(state, rate):
        return state * 0.9 + tf.sin(state) * rate
    state = tf.ones(64)
    for step in range(2_000 * SCALE):
        state = update(state, tf.constant(step / 1000))


def images_augmented():
    """PIL images that are opened, changed and dropped."""
    from PIL import Image
    buffer = io.BytesIO()
    Image.fromarray(np.random.randint(255, size=(128, 128, 3), dtype=np.uint8)).save(buffer, "PNG")
    for number in range(1_500 * SCALE):
        image = Image.open(io.BytesIO(buffer.getvalue())).convert("RGB").rotate(number % 90).resize((96, 96))
        np.asarray(image).mean()


def thumbnails_kept():
    from PIL import Image
    buffer = io.BytesIO()
    Image.fromarray(np.random.randint(255, size=(128, 128, 3), dtype=np.uint8)).save(buffer, "PNG")
    kept = {}
    for number in range(1_500 * SCALE):
        image = Image.open(io.BytesIO(buffer.getvalue())).convert("RGB")
        kept[number] = image.resize((48, 48))  # HERE


if __name__ == "__main__":
    globals()[sys.argv[1]]()
