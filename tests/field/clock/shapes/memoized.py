"""Methods with lru_cache under decorators and context managers: no bound, 100 entries, or none. ok|leak|lru"""
import contextlib, functools, sys, time, numpy as np
kind = sys.argv[1]
def timed(function):
    @functools.wraps(function)
    def wrapper(*args):
        begin = time.perf_counter()
        try: return function(*args)
        finally: spent[0] += time.perf_counter() - begin
    return wrapper
@contextlib.contextmanager
def scratch(n):
    yield np.zeros(n)
spent = [0.0]
class Model:
    @timed
    def features(self, key):
        with scratch(8000) as room:
            room += key
            return np.cumsum(room)  # HOLD 64 kB
    cached = functools.lru_cache(maxsize=None if kind == "leak" else 100)(features)
model = Model(); total = 0.0
for request in range(500):
    total += (model.features if kind == "ok" else model.cached)(request)[0]
print("COUNT requests=500")
