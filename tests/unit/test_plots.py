"""Pictures: what is drawn is what was found."""

from __future__ import annotations

import matplotlib as mpl
import pytest

from countwise import WrapperSelector, samples

mpl.use("Agg")


@pytest.fixture
def search():
    tennis = samples.load("tennis")
    return WrapperSelector(direction="exhaustive", cv="leave_one_out", allow_empty=True).fit(tennis.X, tennis.y)


@pytest.fixture
def figure():
    import matplotlib.pyplot as plt

    made = plt.figure()
    yield made
    plt.close("all")


def test_a_search_is_drawn_with_every_subset_the_path_and_the_choice(search, figure):
    ax = search.plot(figure.add_subplot())
    dots, ring = ax.collections
    assert len(dots.get_offsets()) == 16
    assert [tuple(p) for p in ring.get_offsets().tolist()] == [(2.0, pytest.approx(11 / 14))]
    (path,) = ax.lines
    assert path.get_xdata().tolist() == [0, 1, 2, 3, 4]
    assert (14 * path.get_ydata()).round(9).tolist() == [9, 7, 11, 9, 7]
    assert [text.get_text() for text in ax.texts] == ["outlook, humidity"]


def test_a_search_makes_axes_of_its_own_if_none_are_given(search, figure):
    ax = search.plot()
    assert ax.figure is not figure
    assert ax.get_xlabel() == "number of attributes"


def test_a_search_that_was_not_made_cannot_be_drawn():
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        WrapperSelector().plot()
