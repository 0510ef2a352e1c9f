"""The table of what each learner can do is true: every cell is tried."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
import capabilities

from countwise.registry import KINDS

PAGE = capabilities.PAGE.read_text(encoding="utf-8")
HALVES = [
    [[cell.strip() for cell in line.strip("|").split("|")] for line in half.splitlines()]
    for half in PAGE.split(capabilities.START)[1].split(capabilities.END)[0].strip().split("\n\n")
]
ROWS = [[*one, *other[1:]] for one, other in zip(*HALVES, strict=True)]  # one table again


def test_the_table_has_every_learner_and_every_task():
    assert len(ROWS[0]) == len(KINDS) + 1
    assert [row[0] for row in ROWS[2:]] == list(capabilities.TASKS)
    assert {cell for row in ROWS[2:] for cell in row[1:]} == {"✓", "·"}


@pytest.mark.parametrize("place", range(len(KINDS)), ids=[kind.name for kind in KINDS.values()])
def test_a_learner_does_what_the_table_says_and_refuses_the_rest(place):
    trial = capabilities.Trial(list(KINDS)[place])
    said = {row[0]: row[place + 1] == "✓" for row in ROWS[2:]}
    assert capabilities.answers(trial) == said
