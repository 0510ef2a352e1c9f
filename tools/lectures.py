"""Write docs/lectures.md, the page of the worked examples, from tests/golden and what the calls there print.

python tools/lectures.py            say whether the page is up to date
python tools/lectures.py --write    write it
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
import tempfile
import tomllib
import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
GOLDEN = ROOT / "tests" / "golden"
PAGE = ROOT / "docs" / "lectures.md"
LINES, COLUMNS = 40, 160  # what the page shows of an output
INTRODUCTION = """\
# From the lectures

Countwise covers five public sets of lecture notes on classification with discrete and continuous data. This page
lists their topics, and shows each worked example with its call and what the call prints. The tests run every call and
compare its numbers with exact values. The last table lists where the notes round or err. The data tables are samples
of the package: `countwise.samples.load("tennis")`.
"""

Case = dict[str, Any]


def cases() -> dict[str, Case]:
    """Return every worked example by the name of its file, in the order of their numbers."""
    found = {path.stem: tomllib.loads(path.read_text(encoding="utf-8")) for path in GOLDEN.glob("*.toml")}
    return dict(sorted(found.items(), key=lambda item: (int(item[1]["id"][1:]), item[0])))


def errata() -> list[Case]:
    """Return where the slides round or err."""
    return list(tomllib.loads((GOLDEN / "lectures" / "errata.toml").read_text(encoding="utf-8"))["erratum"])


def run(call: str) -> tuple[dict[str, Any], str]:
    """Run a call in an empty folder; return its names and what it prints. A warning is an error."""
    names: dict[str, Any] = {"__name__": "__main__"}
    os.environ.setdefault("MPLBACKEND", "Agg")
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.chdir(folder),
        warnings.catch_warnings(action="error"),
        contextlib.redirect_stdout(io.StringIO()) as printed,
    ):
        exec(call, names)
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
    return names, printed.getvalue()


def shown(printed: str) -> list[str]:
    """Return the lines of an output that the page shows."""
    lines = [line.rstrip() for line in printed.strip("\n").splitlines()]
    while lines and not lines[-1]:
        lines.pop()
    lines = [line if len(line) <= COLUMNS else f"{line[: COLUMNS - 2]} …" for line in lines]
    if len(lines) > LINES:
        lines[LINES - 1 :] = [f"… ({len(lines) - LINES + 1} more lines)"]
    return lines


def escaped(text: str) -> str:
    """Return a text as Markdown; what is between backticks stays."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else re.sub(r"([\\*_<$\[\]|])", r"\\\1", part) for part in parts)


def anchor(title: str) -> str:
    """Return the anchor of a heading."""
    return re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-")


def link(page: str) -> str:
    """Return a link to a page of the documentation with its title."""
    title = (ROOT / "docs" / page).read_text(encoding="utf-8").split("\n", 1)[0].removeprefix("# ")
    return f"[{title}]({page})"


def sets_of(lecture: str) -> str:
    """Return the sets of an example in words."""
    if lecture == "not stated":
        return "Set not stated."
    return f"Set{'s' if ',' in lecture else ''} {lecture}."


def example(case: Case) -> list[str]:
    """Return the lines of one example."""
    lines = [f"### {case['id']}. {escaped(case['title'])}", "", sets_of(case["lecture"]), ""]
    if "slide" in case:
        lines += [f"> **On the slide:** {escaped(case['slide'])}", ""]
    if "note" in case:
        lines += [escaped(case["note"]), ""]
    lines += ["```python", *case["call"].strip("\n").splitlines(), "```", ""]
    lines += ["```text", *shown(run(case["call"])[1]), "```", ""]
    if "erratum" in case:
        reason = escaped(case["erratum_reason"])
        lines += [
            f"**Erratum** [{escaped(case['erratum'])}](#errata): {reason}{'' if reason.endswith('.') else '.'}",
            "",
        ]
    return lines


def sections() -> dict[str, list[Case]]:
    """Return the examples of each topic; the topics have the order of their pages under Understand."""
    order = re.findall(
        r"^[\w-]+$", (ROOT / "docs" / "understand" / "index.md").read_text(encoding="utf-8"), flags=re.M
    )
    found: dict[str, list[Case]] = defaultdict(list)
    for case in cases().values():
        found[case["topic"]].append(case)

    def place(item: tuple[str, list[Case]]) -> tuple[int, bool, str]:
        page = Path(item[1][0]["page"])
        first = order.index(page.stem) if page.stem in order else len(order)
        return first, anchor(item[0]) != anchor(link(str(page))[1:].split("]")[0]), item[0]

    return dict(sorted(found.items(), key=place))


def tables(found: dict[str, list[Case]]) -> list[str]:
    """Return the table of the sets and that of the topics."""
    subjects = tomllib.loads((GOLDEN / "lectures" / "topics.toml").read_text(encoding="utf-8"))
    lines = ["| set | subject |", "|---|---|"]
    lines += [f"| {number} | {escaped(subject)} |" for number, subject in subjects["sets"].items()]
    lines += ["", "## Topics", "", "| topic | set | page | examples |", "|---|---|---|---|"]
    for topic in subjects["topic"]:
        headings = [name for name, own in found.items() if {case["page"] for case in own} & set(topic["page"])]
        pages, examples = (
            ", ".join(links)
            for links in (map(link, topic["page"]), (f"[{name}](#{anchor(name)})" for name in headings))
        )
        lines.append(f"| {escaped(topic['name'])} | {topic['lecture']} | {pages} | {examples} |")
    return [*lines, ""]


def errata_table() -> list[str]:
    """Return the table of where the slides round or err, with those that only an example names."""
    lines = ["## Errata", "", "Where a slide rounds or errs, the tests use the exact value.", ""]
    lines += ["| | set | the slide says | exact | reason | example |", "|---|---|---|---|---|---|"]
    known = {case["id"]: case for case in errata()}
    cited: dict[str, list[Case]] = {number: [] for number in known}
    for case in cases().values():
        for number in filter(None, case.get("erratum", "").split(", ")):
            cited.setdefault(number, []).append(case)
    for number, own in cited.items():
        case = known.get(number) or {**own[0], "exact": "", "reason": own[0]["erratum_reason"]}
        texts = (escaped(case.get(name, "")) for name in ("slide", "exact", "reason"))
        examples = ", ".join(dict.fromkeys(other["id"] for other in own))
        lines.append(f"| {escaped(number)} | {case['lecture']} | {' | '.join(texts)} | {examples} |")
    return lines


def page() -> str:
    """Return the page."""
    found = sections()
    lines = [INTRODUCTION, *tables(found)]
    for topic, own in found.items():
        pages = dict.fromkeys(case["page"] for case in own)
        lines += [f"## {topic}", "", f"Explained in {', '.join(map(link, pages))}.", ""]
        for case in own:
            lines += example(case)
    return "\n".join([*lines, *errata_table(), ""])


def main(arguments: list[str]) -> int:
    """Compare the page with what it should be, or write it."""
    text = page()
    current = PAGE.exists() and PAGE.read_text(encoding="utf-8") == text
    if "--write" in arguments:
        PAGE.write_text(text, encoding="utf-8")
    elif not current:
        print("docs/lectures.md is not up to date: python tools/lectures.py --write")
        return 1
    print(f"docs/lectures.md: {len(cases())} examples")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
