"""A fixed share of the fuzzer, the same cases in each run. `make fuzz` runs it for longer, with other cases."""

from __future__ import annotations

import os

import pytest

from .fuzz.guard import LIMIT, Guard
from .fuzz.loop import AREAS, fuzz

TIMES = float(os.environ.get("COUNTWISE_FUZZ", "1"))


@pytest.mark.parametrize("area", AREAS)
def test_random_input_is_answered_or_refused_in_our_own_words(area):
    share, cases = AREAS[area]
    ledger = fuzz(area, "ci", cases=int(cases * TIMES), seconds=240 * TIMES * max(share, 0.2))
    assert ledger.calls > cases
    assert not ledger.defects, "\n\n".join(f"{cause}: {what}" for cause, what in ledger.defects.items())


def test_the_fuzzer_notices_an_error_that_is_not_ours():
    from countwise.data.frames import frame_of

    class Rows:
        """A table that fails when it is read."""

        def __iter__(self):
            raise KeyError("x")

    guard = Guard()
    guard("frame_of", lambda: frame_of(Rows()))
    assert [defect.cause for defect in guard.defects] == ["KeyError in data/frames.py:frame_of"]


def test_the_fuzzer_notices_a_foreign_warning_and_a_hang(monkeypatch):
    import time
    import warnings

    from .fuzz import guard as module

    guard = Guard()
    guard("warns", lambda: warnings.warn("overflow", RuntimeWarning, stacklevel=1))
    monkeypatch.setattr(module, "LIMIT", 0.05)
    guard("sleeps", lambda: time.sleep(5))
    assert [defect.cause.split()[0] for defect in guard.defects] == ["RuntimeWarning", "hang"]
    assert LIMIT == 10


def test_a_case_is_repeated_by_its_choices_and_made_simpler():
    from ..strategies.draw import Draw, reduced

    drawn = Draw("seed")
    numbers = [drawn.below(10) for _ in range(50)]
    again = Draw(choices=drawn.choices)
    assert [again.below(10) for _ in range(50)] == numbers

    def still(choices):
        return 7 in choices

    assert reduced(drawn.choices, still) == [7]
