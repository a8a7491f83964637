#!/usr/bin/env python3
"""Every link of the documents leads somewhere: a file of the tree, or a heading of a page.

    tests/checks/doc_links.py       fails on a link to a file or heading that does not exist, and on a page of docs/ that
                                    no other page links to

Links to the web are not followed. Run it from the top of the tree, or set PLATEAU_SOURCE.
"""

import os
import pathlib
import re
import subprocess
import sys

SOURCE = pathlib.Path(os.environ.get("PLATEAU_SOURCE", ".")).resolve()
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)


def anchor(heading):
    """The name that a heading gets on a page: lower case, words joined by dashes, no other signs."""
    words = re.sub(r"[`*_]", "", heading.strip().lower())
    return re.sub(r"[^\w\- ]", "", words).replace(" ", "-")


def headings(path):
    text = FENCE.sub("", path.read_text(encoding="utf-8"))
    return {anchor(line.lstrip("#")) for line in text.splitlines() if line.startswith("#")}


def pages():
    # In a folder without git every page counts.
    listed = subprocess.run(["git", "-C", str(SOURCE), "ls-files", "-co", "--exclude-standard", "*.md"], capture_output=True, text=True)
    names = listed.stdout.splitlines() if listed.returncode == 0 else []
    return [SOURCE / name for name in names] or [page for page in SOURCE.rglob("*.md") if "node_modules" not in page.parts and "build" not in page.parts]


def check(all_pages):
    problems, linked = [], set()
    for page in all_pages:
        text = FENCE.sub("", page.read_text(encoding="utf-8"))
        for link in LINK.findall(text):
            if re.match(r"[a-z]+:", link):
                continue
            name, _, heading = link.partition("#")
            target = (page.parent / name).resolve() if name else page
            if not target.exists():
                problems.append(f"{page.relative_to(SOURCE)}: no file {link}")
                continue
            linked.add(target)
            if heading and target.suffix == ".md" and heading not in headings(target):
                problems.append(f"{page.relative_to(SOURCE)}: no heading #{heading} in {target.relative_to(SOURCE)}")
    for page in all_pages:
        if page.parent == SOURCE / "docs" and page.name != "README.md" and page not in linked:
            problems.append(f"{page.relative_to(SOURCE)}: no page links to it; docs/README.md is the index")
    return problems


def main():
    problems = check(pages())
    print("\n".join(problems) if problems else "every link leads somewhere")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
