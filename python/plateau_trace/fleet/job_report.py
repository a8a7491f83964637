"""From the rows of a reduction to what is said of each job: plain data, as `plateau fleet --json` prints it."""

SCHEMA = "plateau-fleet/1"
TOP_SITES = 20
TOP_ODD = 100
HISTORY_RUNS = 12
LEAST_CHANGE = 64  # bytes per step; less is what two runs of the same code differ by


def _of(rows, job):
    return [{key: value for key, value in row.items() if key != "job"} for row in rows if row["job"] == job]


def bytes_in_words(number):
    """"64.0 KiB", as the analyzer writes it."""
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if abs(number) < 1000 or unit == "TiB":
            break
        number /= 1024.0
    return "%d B" % number if unit == "B" else "%.*f %s" % (2 if abs(number) < 10 else 1 if abs(number) < 100 else 0, number, unit)


def named(job, version):
    """"night-7 (1a2b3c)": a run, with the version of its code where somebody said it."""
    return "%s (%s)" % (job, version) if version else job


def _numbers(ranks):
    """"rank 3", "ranks 1, 2 and 5", "12 ranks"."""
    if len(ranks) == 1:
        return "rank %d" % ranks[0]
    if len(ranks) > 4:
        return "%d ranks (%s, ...)" % (len(ranks), ", ".join(map(str, ranks[:3])))
    return "ranks %s and %d" % (", ".join(map(str, ranks[:-1])), ranks[-1])


def _odd_in_words(odd):
    """One sentence for each way in which ranks are odd, at one place."""
    groups = {}
    for row in odd:
        groups.setdefault((row["kind"], row["site_key"]), []).append(row)
    sentences = []
    for (kind, _), rows in groups.items():
        names = _numbers(sorted(row["rank"] for row in rows))
        worst = rows[0]
        others = rows[0]["ranks"] - len(rows)
        if kind == "grows":
            alone = "the other one does not grow there" if others == 1 else "the other %d do not grow there" % others
            usual = alone if abs(worst["middle"]) < 1 else "the median rank by %s" % bytes_in_words(worst["middle"])
            sentences.append("%s %s by %s/step at %s; %s" % (names, "grows" if len(rows) == 1 else "grow", bytes_in_words(worst["value"]),
                                                          worst["site"], usual))
        elif kind == "holds more":
            sentences.append("%s %s %s at %s; the median rank has %s there" % (names, "holds" if len(rows) == 1 else "hold", bytes_in_words(worst["value"]),
                                                                   worst["site"], bytes_in_words(worst["middle"])))
        else:
            sentences.append("%s %s after %d steps; the median rank made %d" % (names, kind.replace("was", "was" if len(rows) == 1 else "were"),
                                                                             worst["value"], worst["middle"]))
    return sentences


def _verdict(shares, unsound):
    """The worst verdict of the job's ranks. Where a rank cannot be judged, nobody can say that all is well."""
    if not shares:
        return "inconclusive"
    worst = shares[0]["verdict"]
    fine = ("steady", "warmup_complete", "spike_recovered", "allocator_retention", "spike_retained", "cache_fill")
    blind = any(row["status"] in ("damaged", "unreadable", "newer", "missing") for row in unsound)
    return "inconclusive" if blind and worst in fine else worst


def _sentence(job):
    shares = job["verdict_shares"]
    parts = ["%s in %d%s" % (row["verdict"].replace("_", " "), row["ranks"], (" rank" if row["ranks"] == 1 else " ranks") if row is shares[0] else "") for row in shares]
    head = "%d %s on %d %s: %s." % (job["ranks"], "rank" if job["ranks"] == 1 else "ranks", job["nodes"], "host" if job["nodes"] == 1 else "hosts",
                                  "; ".join(parts) if parts else "none could be judged")
    if job["ranks_missing"] > 0:
        head += " %d of the job's %d ranks have no recording." % (job["ranks_missing"], job["world"])
    if job["killed_ranks"] > 0:
        head += " %d of them did not end in order: killed, or on another machine and still running." % job["killed_ranks"]
    return head


def jobs_of(results):
    """What is said of each job, the worst first, and how sites grew from job to job."""
    jobs = []
    for row in results["job_summary"]:
        name = row["job"]
        odd = _of(results["odd_ranks"], name)
        job = {"job": name, "verdict": "", "sentence": "", "ranks": row["ranks"], "world": max(row["world"], row["ranks"]),
               "ranks_missing": max(0, row["world"] - row["ranks"]), "nodes": row["nodes"], "earlier_attempts": row["earlier_attempts"], "killed_ranks": row["killed_ranks"],
               "steps": row["steps"], "started_utc": row["started_utc"], "verdict_shares": _of(results["verdict_shares"], name),
               "odd_ranks_count": len({entry["rank"] for entry in odd}), "odd": _odd_in_words(odd), "odd_ranks": odd[:TOP_ODD],
               "odd_hosts": _of(results["odd_hosts"], name), "groups": _of(results["odd_groups"], name),
               "first_limit": next(iter(_of(results["first_limit"], name)), None), "sites": _of(results["top_sites"], name)[:TOP_SITES],
               "unsound": _of(results["unsound"], name)}
        job["verdict"] = _verdict(job["verdict_shares"], job["unsound"])
        job["sentence"] = _sentence(job)
        jobs.append(job)
    # Recordings of which no rank is known belong to a job, too.
    for name in sorted({row["job"] for row in results["unsound"]} - {job["job"] for job in jobs}):
        jobs.append({"job": name, "verdict": "inconclusive", "sentence": "No rank of it could be read.", "ranks": 0, "world": 0, "ranks_missing": 0,
                     "nodes": 0, "earlier_attempts": 0, "killed_ranks": 0, "steps": 0, "started_utc": "", "verdict_shares": [], "odd_ranks_count": 0, "odd": [],
                     "odd_ranks": [], "odd_hosts": [], "groups": [], "first_limit": None, "sites": [], "unsound": _of(results["unsound"], name)})
    return {"schema": SCHEMA, "jobs": jobs, "regressions": [row for row in results["history"] if _is_worse(row)], "history": _history(results["history"])}


def _is_worse(row):
    """Whether a place grows without an end in a job, and by clearly more than in the job before."""
    return row["highest_before"] is not None and row["growing_ranks"] > 0 and row["highest_growth"] > 1.5 * max(0, row["highest_before"]) + LEAST_CHANGE


def _history(rows):
    """The places that grew in any of several runs of a program, those that grow most in its last run first."""
    runs, places = {}, {}
    for row in rows:
        runs.setdefault(row["program"], {})[(row["started_utc"], row["job"])] = {"job": row["job"], "day": row["day"], "version": row["version"]}
        places.setdefault((row["program"], row["place"], row["pool"]), {})[row["job"]] = row
    history = []
    for program, starts in sorted(runs.items()):
        order = [starts[key] for key in sorted(starts)][-HISTORY_RUNS:]
        grown = [(place, pool, cells) for (of, place, pool), cells in places.items() if of == program and any(cell["growing_ranks"] > 0 for cell in cells.values())]
        if len(order) < 2 or not grown:
            continue
        table = [{"place": place, "pool": pool, "growth": [cells[run["job"]]["highest_growth"] if run["job"] in cells else None for run in order]}
                 for place, pool, cells in grown]
        table.sort(key=lambda entry: (-(entry["growth"][-1] or 0), entry["place"], entry["pool"]))
        history.append({"program": program.strip(), "runs": order, "places": table[:TOP_SITES]})
    return history
