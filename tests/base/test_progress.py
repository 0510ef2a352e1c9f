"""Who listens hears how far the work has come."""

from __future__ import annotations

import pytest
from sklearn.pipeline import make_pipeline

from countwise import NaiveBayesClassifier, WrapperSelector, samples
from countwise.progress import bar, current, reporting

TENNIS = samples.load("tennis")


@pytest.mark.parametrize(
    "model", [NaiveBayesClassifier(), make_pipeline(NaiveBayesClassifier())], ids=["terms", "refit"]
)
def test_a_search_tells_how_many_subsets_are_scored(model):
    heard: list[int] = []
    with reporting(heard.append):
        WrapperSelector(model, "exhaustive", cv="leave_one_out").fit(TENNIS.X, TENNIS.y)
    assert heard == sorted(heard)
    assert heard[-1] == 15


def test_a_bar_listens_while_it_is_open_and_no_longer(capsys):
    with bar("Counting", total=3, unit="subsets", patience=0.0):
        tell = current()
        assert tell is not None
        for done in (1, 2, 3):
            tell(done)
    assert current() is None
    assert capsys.readouterr().out == ""


def test_a_bar_is_taken_down_when_the_work_fails():
    def work() -> None:
        with bar("Counting", patience=0.0):
            current()(1)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work()
    assert current() is None
