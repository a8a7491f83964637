"""What `plateau fleet` prints."""
from plateau_trace.fleet.job_report import bytes_in_words, named

SHOWN_RUNS = 5  # of a program, the last ones


def _clean(text):
    """Names come from outside: control characters could steer the terminal."""
    return "".join(char if char.isprintable() else "?" for char in str(text))


def _table(header, rows, right):
    cells = [header] + [[_clean(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    return ["  " + "  ".join(cell.rjust(width) if i in right else cell.ljust(width) for i, (cell, width) in enumerate(zip(row, widths))).rstrip()
            for row in cells]


def _duration(seconds):
    for unit, size in (("days", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return "%.0f %s" % (seconds / size, unit)
    return "%.0f s" % seconds


def _job(job, top):
    lines = [" %s   %s" % (job["verdict"].replace("_", " ").upper(), _clean(job["job"])), _clean(job["sentence"])]
    lines += ["- " + _clean(sentence) + "." for sentence in job["odd"][:top]]
    if len(job["odd"]) > top:
        lines.append("- and %d more; --json has all of them." % (len(job["odd"]) - top))
    for host in job["odd_hosts"][:top]:
        lines.append("- Host %s: %d of its %d ranks (%s)." % (_clean(host["node"]), host["odd_ranks"], host["ranks"],
                                                             _clean(host["kind"] + (" at " + host["site"] if host["site"] else ""))))
    for group in job["groups"]:
        if 0 < group["odd_ranks"] == group["ranks"] and job["odd_ranks_count"] == group["odd_ranks"] < job["ranks"]:
            lines.append("- All of them are of %s-parallel group %d, and no other rank is odd." % (group["dimension"], group["place"]))
    limit = job["first_limit"]
    if limit:
        lines.append("The first to reach its memory limit (%s) is rank %d, in %d steps%s; the job ends with it." % (
            bytes_in_words(limit["limit_bytes"]) if limit["limit_bytes"] else "?", limit["rank"], limit["steps_left"],
            " (about %s)" % _duration(limit["seconds_left"]) if limit["seconds_left"] and limit["seconds_left"] > 0 else ""))
    if job["earlier_attempts"]:
        lines.append("%d earlier attempts were started again and are not counted." % job["earlier_attempts"])
    if job["sites"]:
        rows = [[site["site"] + ("" if site["pool"] == "host" else " (%s)" % site["pool"]), "%d of %d" % (site["growing_ranks"], site["ranks"]), bytes_in_words(site["highest_growth"]) + "/step",
                 bytes_in_words(site["retained_bytes"])] for site in job["sites"][:top]]
        lines += [""] + _table(["site", "grows in ranks", "at most", "retained, all ranks"], rows, (1, 2, 3))
    if job["unsound"]:
        rows = [[row["status"], row["node"], row["what"], row["reason"]] for row in job["unsound"][:top]]
        lines += [""] + _table(["not relied on", "host", "rank or recording", "reason"], rows, ())
        if len(job["unsound"]) > top:
            lines.append("  and %d more" % (len(job["unsound"]) - top))
    return "\n".join(lines) + "\n"


def write(report, top=8):
    parts = [_job(job, top) for job in report["jobs"]]
    if report["regressions"]:
        rows = [[row["site"], named(row["job_before"], row["version_before"]), bytes_in_words(row["highest_before"]) + "/step",
                 named(row["job"], row["version"]), bytes_in_words(row["highest_growth"]) + "/step"] for row in report["regressions"][:top]]
        parts.append("Grows more than in the run before\n" + "\n".join(_table(["site", "run before", "", "run", ""], rows, (2, 4))) + "\n")
        if len(report["regressions"]) > top:
            parts.append("  and %d more; --json has all of them.\n" % (len(report["regressions"]) - top))
    for program in report["history"]:
        runs = program["runs"][-SHOWN_RUNS:]
        rows = [[entry["place"]] + ["-" if growth is None else bytes_in_words(growth) for growth in entry["growth"][-SHOWN_RUNS:]]
                for entry in program["places"][:top]]
        header = ["place"] + [_clean("%s %s" % (run["day"][5:], (run["version"] or run["job"])[:12])) for run in runs]
        parts.append("Growth per step from run to run of %s, the highest of any rank\n" % _clean(program["program"]) +
                     "\n".join(_table(header, rows, range(1, len(header)))) + "\n")
    return "\n".join(parts)
