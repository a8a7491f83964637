#!/usr/bin/env python3
"""docs/gallery.md is what the golden reports say today, with every verdict there is.

    tests/checks/gallery.py           fails when the page differs
    tests/checks/gallery.py --write   writes it
"""
import os
import pathlib
import re
import sys

SOURCE = pathlib.Path(os.environ.get("PLATEAU_SOURCE", ".")).resolve()
PAGE = SOURCE / "docs/gallery.md"

# Verdict -> (golden case or None, example program or None, what to do)
CASES = {
    "leak": ("leak", "examples/loss_kept.py", "Look for what keeps the objects made at the line alive: a list, a graph, a closure. `plateau report --html` shows the lines around it."),
    "slow_leak": ("slow_leak", "examples/slow_leak.py", "As for a leak; it is below 0.02 % of the peak per step, so it takes long to hurt and long to see."),
    "staircase": ("staircase", "examples/eval_staircase.py", "Look for what an evaluation, a checkpoint or an epoch leaves behind: kept predictions, metrics that are never reset."),
    "unbounded_growth": ("reserved_fill", "examples/cpp/training_loop.cc", "It grew to the end, and no pass over data was seen. If it is a cache, give it a bound; if there are passes, say how long one is with `--epoch-steps`."),
    "inconclusive": ("cut_in_first_epoch", "examples/image_cache.py", "Do what the card says: so many more steps, or the length of an epoch. Change nothing before."),
    "fragmentation": ("fragmentation", "examples/fragmentation.py", "`MALLOC_ARENA_MAX=2`, `malloc_trim` at the ends of epochs, or another allocator. No line of yours is to blame."),
    "untraced_growth": ("untraced_growth", "examples/mapped_file.py", "Look at the ledger for what it is: the kernel can take mapped files back, but not shared memory or a driver's."),
    "worker_duplication": ("worker_duplication", "examples/workers_copy_on_write.py", "Keep the data set in arrays instead of Python lists, or use fewer workers."),
    "warmup_in_progress": ("warmup_in_progress", "examples/warm_up.py", "Wait: growth is slowing."),
    "cache_fill": ("cache_fill", "examples/image_cache.py", "Nothing, or plan memory for the whole data set, or keep examples encoded. Twice the data needs twice as much."),
    "warmup_complete": ("warmup_complete", "examples/warm_up.py", "Nothing."),
    "spike_retained": ("spike_retained", "examples/eval_buffer.py", "Nothing: later ones use the same memory again."),
    "spike_recovered": ("spike_recovered", "examples/eval_released.py", "Plan for the peak."),
    "allocator_retention": ("allocator_retention", "examples/early_peak.py", "Nothing, or `malloc_trim`: memory of an earlier peak is kept, and does not grow."),
    "steady": ("steady", "examples/healthy.py", "Nothing. The card says how small a leak this run would have shown."),
}


def verdicts():
    table = (SOURCE / "analyzer/verdict/vocabulary/verdict_kinds.inc").read_text()
    return re.findall(r'^PLATEAU_VERDICT\(k\w+,\s*"(\w+)",.*"([^"]*)"\)$', table, re.M)


def page():
    out = ["# Gallery of verdicts", "",
           "Every verdict there is: what it means, the first screen of its page, a card, a program that gets it, and what to do. The rules behind them are in [verdicts.md](verdicts.md).",
           "Cards and pictures are those of the test suite, which keeps this page equal to them; `tools/pictures` makes the pictures anew.", ""]
    for name, words in verdicts():
        case, example, advice = CASES[name]
        out += [f"## {name.replace('_', ' ')}", "", f"{words[0].upper()}{words[1:]} (`{name}`).", ""]
        picture = f"images/verdict-{name.replace('_', '-')}.png"
        assert (SOURCE / "docs" / picture).exists(), f"{picture}: tools/pictures makes it"
        out += [f"![The page of the verdict {name}]({picture})", ""]
        if case:
            report = (SOURCE / f"tests/golden/{case}.report.txt").read_text()
            card = report.split("\n\n\n")[0].rstrip().splitlines()
            keep, left_out = [], False
            for line in card:
                # A section ends where the next label begins; sites are indented by less.
                left_out = line.startswith(("Ruled out", "Recorded")) or (left_out and line.startswith(" " * 11))
                if not left_out:
                    keep.append(line)
            out += ["```text", *[line.rstrip() for line in keep[:14]], "```", ""]
        if example:
            assert (SOURCE / example).exists(), example
            out += [f"Program: [{example}](../{example}).", ""]
        out += [f"What to do: {advice}", ""]
    return "\n".join(out).rstrip() + "\n"


def main():
    missing = {name for name, _ in verdicts()} ^ set(CASES)
    if missing:
        sys.exit(f"gallery.py and the table of verdicts differ in {sorted(missing)}")
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(page())
    elif PAGE.read_text() != page():
        sys.exit("docs/gallery.md is not what the golden reports say: tests/checks/gallery.py --write, and look at the difference")


if __name__ == "__main__":
    main()
