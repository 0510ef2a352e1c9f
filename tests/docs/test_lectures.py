"""The page of the worked examples: every example of tests/golden is on it, with what its call prints now."""

from __future__ import annotations

import re

import lectures
import pytest

CASES = lectures.cases()
TEXTS = ("id", "title", "topic", "page", "lecture", "call")


@pytest.fixture(scope="module")
def page() -> str:
    return lectures.PAGE.read_text(encoding="utf-8")


def test_the_page_is_what_the_examples_print_now(page):
    assert page == lectures.page(), "run: python tools/lectures.py --write"


@pytest.mark.parametrize("name", CASES)
def test_an_example_has_what_the_page_shows(name):
    case = CASES[name]
    assert all(isinstance(case[text], str) and case[text] for text in TEXTS)
    assert (lectures.ROOT / "docs" / case["page"]).exists()
    assert re.fullmatch(r"not stated|00[0-4](, 00[0-4])*", case["lecture"])
    assert ("erratum" in case) == ("erratum_reason" in case)
    assert re.fullmatch(r"E\d+(, E\d+)*", case.get("erratum", "E0"))
    assert max(map(len, case["call"].splitlines())) <= 110, "the call is too wide for the page"


def test_every_example_and_every_erratum_is_on_the_page(page):
    headings = re.findall(r"^### (G\d+)\. (.+)$", page, flags=re.M)
    assert sorted(headings) == sorted((case["id"], lectures.escaped(case["title"])) for case in CASES.values())
    listed = re.findall(r"^\| (E\d+) ", page, flags=re.M)
    assert listed[:16] == [f"E{k}" for k in range(1, 17)]
    cited = {number for case in CASES.values() if "erratum" in case for number in case["erratum"].split(", ")}
    assert cited == set(listed)


def test_links_within_the_page_lead_to_its_headings(page):
    headings = {lectures.anchor(title) for title in re.findall(r"^#+ (.+)$", page, flags=re.M)}
    wanted = set(re.findall(r"\]\(#([^)]+)\)", page))
    assert wanted
    assert wanted <= headings


def test_a_long_output_is_cut_and_says_so():
    assert lectures.shown("a \n\nb\n\n") == ["a", "", "b"]
    many = lectures.shown("".join(f"{k}\n" for k in range(lectures.LINES + 5)))
    assert len(many) == lectures.LINES
    assert many[-1] == "… (6 more lines)"
    wide = lectures.shown("x" * (lectures.COLUMNS + 1))[0]
    assert len(wide) == lectures.COLUMNS
    assert wide.endswith("…")


def test_marks_of_markdown_are_escaped_outside_of_code():
    assert lectures.escaped("P(x_d | y) is `a_b | c`") == r"P(x\_d \| y) is `a_b | c`"
