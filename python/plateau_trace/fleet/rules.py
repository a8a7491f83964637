"""Rules for a job: an exit code for CI and for schedulers.

    fail-on leak            a verdict of any rank: its name, or `leak` (every leak) or `growth` (all growth without an end)
    max-odd-ranks 0         ranks that differ from the others
    max-share leak 1%       ranks of a verdict, as a share of all
    min-ranks 512           ranks whose recordings could be read
    max-growth 1MiB/step    the highest rate of any site on any rank
    min-steps-left 10000    of the rank that reaches its limit first
"""
import re

LEAKS = ("leak", "slow_leak", "staircase")
GROWTH = LEAKS + ("unbounded_growth", "fragmentation", "untraced_growth")
NAMES = ("fail-on", "max-odd-ranks", "max-share", "min-ranks", "max-growth", "min-steps-left")


class RuleError(Exception):
    """A rule that cannot be understood."""


def _bytes(text):
    found = re.match(r"^([0-9.]+)\s*([KMGT]?)(?:i?B)?(?:/step)?$", text)
    if not found:
        raise RuleError("%s: not a number of bytes" % text)
    return float(found.group(1)) * 1024 ** " KMGT".index(found.group(2) or " ")


def _number(text):
    try:
        return float(text)
    except ValueError:
        raise RuleError("%s: not a number" % text)


def _verdicts(name):
    return {"leak": LEAKS, "growth": GROWTH}.get(name, (name,))


def _broken(name, words, job):
    """What a job breaks a rule with, or None."""
    shares = job["verdict_shares"]
    if name == "fail-on":
        bad = [row for row in shares if row["verdict"] in _verdicts(words[0])]
        return "; ".join("%s in %d ranks" % (row["verdict"], row["ranks"]) for row in bad) or None
    if name == "max-odd-ranks":
        return "%d odd ranks" % job["odd_ranks_count"] if job["odd_ranks_count"] > _number(words[0]) else None
    if name == "max-share":
        if len(words) != 2 or not words[1].endswith("%"):
            raise RuleError("max-share needs a verdict and a percentage: max-share leak 1%")
        share = sum(row["percent"] for row in shares if row["verdict"] in _verdicts(words[0]))
        return "%.2f %% of the ranks" % share if share > _number(words[1][:-1]) else None
    if name == "min-ranks":
        sound = job["ranks"] - sum(1 for row in job["unsound"] if row["rank"] is not None and row["status"] in ("unreadable", "newer", "empty"))
        return "%d ranks could be read" % sound if sound < _number(words[0]) else None
    if name == "max-growth":
        highest = max((row["highest_growth"] for row in job["sites"]), default=0)
        return "%.0f bytes per step" % highest if highest > _bytes(words[0]) else None
    if name == "min-steps-left":
        limit = job["first_limit"]
        return "%d steps" % limit["steps_left"] if limit and limit["steps_left"] < _number(words[0]) else None
    raise RuleError("%s: not a rule; known are %s" % (name, ", ".join(NAMES)))


def parse(text):
    """[(name, words)] of a text with a rule on each line; # begins a comment."""
    lines = [line.split("#")[0].split() for line in text.splitlines()]
    for words in lines:
        if words and (len(words) < 2 or words[0] not in NAMES):
            raise RuleError("%s: not a rule; known are %s" % (" ".join(words), ", ".join(NAMES)))
    return [(words[0], words[1:]) for words in lines if words]


def check(rules, report):
    """One sentence for each rule that a job breaks."""
    sentences = []
    for job in report["jobs"]:
        for name, words in rules:
            what = _broken(name, words, job)
            if what:
                sentences.append("%s: %s %s: %s" % (job["job"], name, " ".join(words), what))
    return sentences
