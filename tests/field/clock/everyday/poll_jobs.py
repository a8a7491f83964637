"""A worker polls a table of jobs in sqlite until it is empty; a job's answer stays in a dict, in the table, or the last 25 do. ok|leak|last"""
import sqlite3
import sys
import time

kind = sys.argv[1]
base = sqlite3.connect(":memory:")
base.execute("create table jobs (number integer primary key, state text, size integer)")
base.executemany("insert into jobs values (?, 'new', ?)", [(n, 800 + 17 * (n % 30)) for n in range(320)])
answers = {}


def work(number, size):
    words = ["%d-%d" % (number, i) for i in range(size)]  # HOLD
    return words


done = 0
while True:
    row = base.execute("select number, size from jobs where state = 'new' order by number limit 1").fetchone()
    if row is None:
        break
    answer = work(*row)
    base.execute("update jobs set state = 'done' where number = ?", row[:1])
    if kind != "ok":
        answers[row[0]] = answer
    if kind == "last" and len(answers) > 25:
        del answers[min(answers)]
    done += 1
    if done % 16 == 0:
        time.sleep(0.02)
print("COUNT jobs=%d" % done)
