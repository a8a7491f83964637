"""One HTML page for a job, without anything from elsewhere."""
import html
import json

from plateau_trace.fleet.job_report import bytes_in_words, named

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; color: #1d2733; background: #fff; }
h1 { font-size: 1.3rem; } h2 { font-size: 1.05rem; margin-top: 2rem; }
.verdict { display: inline-block; padding: .1rem .6rem; border-radius: .3rem; color: #fff; background: #52616b; }
.grows { background: #b3261e; } .open { background: #9a6700; } .fine { background: #1a7f37; }
table { border-collapse: collapse; margin: .5rem 0; } td, th { padding: .2rem .8rem .2rem 0; text-align: left; border-bottom: 1px solid #d6dde3; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
.bar { display: flex; height: 1rem; border-radius: .3rem; overflow: hidden; max-width: 40rem; } .bar span { display: block; }
@media (prefers-color-scheme: dark) { body { color: #dbe2e8; background: #14191f; } td, th { border-color: #333c45; } }
"""
TONES = {"leak": "grows", "slow_leak": "grows", "staircase": "grows", "unbounded_growth": "grows", "fragmentation": "grows", "untraced_growth": "grows",
         "inconclusive": "open", "steady": "fine", "warmup_complete": "fine", "spike_recovered": "fine"}
COLOURS = {"grows": "#b3261e", "open": "#9a6700", "fine": "#1a7f37", "": "#52616b"}


def _table(header, rows, numbers):
    def cell(tag, i, text):
        return "<%s%s>%s</%s>" % (tag, ' class="n"' if i in numbers else "", html.escape(str(text)), tag)

    lines = ["<tr>%s</tr>" % "".join(cell("th", i, text) for i, text in enumerate(header))]
    lines += ["<tr>%s</tr>" % "".join(cell("td", i, text) for i, text in enumerate(row)) for row in rows]
    return "<table>%s</table>" % "\n".join(lines)


def _section(title, header, rows, numbers=()):
    return "<h2>%s</h2>%s" % (html.escape(title), _table(header, rows, numbers)) if rows else ""


def _job(job):
    tone = TONES.get(job["verdict"], "")
    bar = "".join('<span style="width:%.2f%%;background:%s" title="%s"></span>' % (
        row["percent"], COLOURS[TONES.get(row["verdict"], "")], html.escape("%s: %d ranks" % (row["verdict"], row["ranks"]))) for row in job["verdict_shares"])
    limit = job["first_limit"]
    parts = ['<h1><span class="verdict %s">%s</span> %s</h1>' % (tone, html.escape(job["verdict"].replace("_", " ")), html.escape(job["job"])),
             "<p>%s</p>" % html.escape(job["sentence"]), '<div class="bar">%s</div>' % bar,
             "<ul>%s</ul>" % "".join("<li>%s.</li>" % html.escape(sentence) for sentence in job["odd"])]
    if limit:
        parts.append("<p>%s</p>" % html.escape("Rank %d on %s is the first to reach its memory limit, in %d steps." % (
            limit["rank"], limit["node"], limit["steps_left"])))
    parts += [
        _section("Odd ranks", ["rank", "host", "what", "site", "this rank", "median rank"],
                 [[row["rank"], row["node"], row["kind"], row["site"], _amount(row, "value"), _amount(row, "middle")] for row in job["odd_ranks"]], (0, 4, 5)),
        _section("Odd hosts", ["host", "what", "site", "odd ranks", "ranks"],
                 [[row["node"], row["kind"], row["site"], row["odd_ranks"], row["ranks"]] for row in job["odd_hosts"]], (3, 4)),
        _section("Groups", ["dimension", "place", "ranks", "odd ranks"],
                 [[row["dimension"], row["place"], row["ranks"], row["odd_ranks"]] for row in job["groups"]], (1, 2, 3)),
        _section("Sites over all ranks", ["site", "ranks", "growing ranks", "median growth per step", "highest", "retained by all"],
                 [[row["site"], row["ranks"], row["growing_ranks"], bytes_in_words(row["median_growth"]), bytes_in_words(row["highest_growth"]),
                   bytes_in_words(row["retained_bytes"])] for row in job["sites"]], (1, 2, 3, 4, 5)),
        _section("Not relied on", ["status", "host", "rank or recording", "reason"],
                 [[row["status"], row["node"], row["what"], row["reason"]] for row in job["unsound"][:200]])]
    return "\n".join(part for part in parts if part)


def _amount(row, key):
    if row["kind"] == "grows":
        return bytes_in_words(row[key]) + "/step"
    return bytes_in_words(row[key]) if row["kind"] == "holds more" else "%d steps" % row[key]


def write(report):
    data = json.dumps(report).replace("<", "\\u003c")  # the data of the page, for whoever wants to read it from there
    regressions = _section("Grows more than in the run before", ["site", "run before", "growth then", "run", "growth"],
                           [[row["site"], named(row["job_before"], row["version_before"]), bytes_in_words(row["highest_before"]),
                             named(row["job"], row["version"]), bytes_in_words(row["highest_growth"])] for row in report["regressions"]], (2, 4))
    for program in report["history"]:
        header = ["place"] + ["%s %s" % (run["day"], run["version"] or run["job"]) for run in program["runs"]]
        rows = [[entry["place"]] + ["" if growth is None else bytes_in_words(growth) + "/step" for growth in entry["growth"]] for entry in program["places"]]
        regressions += _section("Runs of %s: the highest growth of any rank" % program["program"], header, rows, range(1, len(header)))
    return ('<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Plateau: %s</title>'
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\"><style>%s</style></head><body>%s%s"
            '<script type="application/json" id="plateau-fleet">%s</script></body></html>\n' % (
                html.escape(", ".join(job["job"] for job in report["jobs"])[:200]), STYLE, "\n".join(map(_job, report["jobs"])), regressions, data))
