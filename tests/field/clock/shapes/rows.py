"""sqlite3: 600 queries of 300 rows; keeps each answer, or the last 30 by lru_cache. ok|leak|lru"""
import functools, random, sqlite3, sys
kind = sys.argv[1]; random.seed(4); kept = []; base = sqlite3.connect(":memory:")
base.execute("create table t (k integer, name text, v real)")
base.executemany("insert into t values (?, ?, ?)", ((i % 50, "name %d" % i, i / 3) for i in range(15_000)))
def query(k): return base.execute("select name, v from t where k = ?", (k,)).fetchall()  # HOLD
cached = functools.lru_cache(maxsize=30)(query)
for i in range(600):
    answer = cached(i % 50) if kind == "lru" else query(random.randrange(50))
    if kind == "leak": kept.append(answer)
print("COUNT queries=600")
