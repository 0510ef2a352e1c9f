"""Pictures: what is drawn is what was found."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest

from countwise import Nominal, WrapperSelector, samples
from countwise.data.frames import frame_of
from countwise.errors import OptionError, TableError
from countwise.network.graph import Graph
from countwise.network.layered_layout import LayerRows, _spaced, crossings, layers_of, layout
from countwise.network.net import Net
from countwise.plots import plot_bandwidth
from countwise.plots.network import graph_svg, network_svg
from countwise.plots.plot_data import moved, plot_data, spread_out, still
from countwise.plots.regions import Scene, boundary
from countwise.plots.regions_svg import _short, nice_ticks, runs
from countwise.plots.style import look, shades, shortened
from countwise.working import Grid

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


class Density:
    """A stand-in for a density whose width was looked for."""

    def __init__(self, **found):
        vars(self).update(found)


WIDTHS = [0.01, 0.1, 1.0, 10.0]
CURVE = {"bandwidth": WIDTHS, "train": [3.0, 1.0, -2.0, -4.0], "held_out": [-np.inf, -50.0, -2.5, -4.1]}


def test_the_width_of_a_kernel_is_drawn_with_both_curves_and_the_best(figure):
    ax = plot_bandwidth(Density(bandwidth_curve_=Grid(CURVE), best_bandwidth_=1.0), figure.add_subplot())
    train, held_out = ax.lines
    assert ax.get_xscale() == "log"
    assert train.get_ydata().tolist() == CURVE["train"]
    assert held_out.get_ydata()[1:].tolist() == CURVE["held_out"][1:]
    (ring,) = ax.collections
    assert ring.get_offsets().tolist() == [[1.0, -2.5]]
    assert [text.get_text() for text in ax.texts] == ["1"]


def test_the_fall_at_tiny_widths_leaves_the_picture(figure):
    ax = plot_bandwidth(Density(bandwidth_curve_=CURVE, best_bandwidth_=1.0), figure.add_subplot())
    low, high = ax.get_ylim()
    assert -50 < low < -4.1
    assert 3 < high < 6
    assert np.isfinite(ax.lines[1].get_ydata()).all()
    assert ax.lines[1].get_ydata()[0] < low


@pytest.mark.parametrize("held_out", [[-np.inf] * 4, [np.nan] * 4, [-2.0] * 4])
def test_a_curve_that_tells_little_is_drawn_nevertheless(figure, held_out):
    curve = {**CURVE, "train": [-2.0] * 4, "held_out": held_out}
    ax = plot_bandwidth(Density(bandwidth_curve_=curve, best_bandwidth_=1.0), figure.add_subplot())
    low, high = ax.get_ylim()
    assert low < -2 < high
    figure.canvas.draw()


def test_a_best_bandwidth_between_two_of_the_curve_is_marked_on_the_curve(figure):
    curve = {"bandwidth": [1.0, 0.25, 4.0], "train": [0.0, 1.0, -1.0], "held_out": [-1.0, -2.0, -3.0]}
    ax = plot_bandwidth(Density(bandwidth_curve_=curve, best_bandwidth_=0.5), figure.add_subplot())
    assert ax.collections[0].get_offsets().tolist() == [[0.5, -1.5]]
    assert ax.lines[0].get_xdata().tolist() == [0.25, 1.0, 4.0]
    figure.canvas.draw()
    assert "0.5" in [label.get_text() for label in ax.get_xticklabels()]


def test_a_density_without_a_curve_of_widths_cannot_be_drawn():
    with pytest.raises(OptionError, match=r"Density has no bandwidth curve.*leave_one_out.*k_fold"):
        plot_bandwidth(Density())


@pytest.mark.parametrize(
    ("change", "words"),
    [({"bandwidth": [0.0, 1, 2, 3]}, "must be > 0"), ({"train": [1.0]}, "differ in length")],
)
def test_a_curve_of_widths_that_is_none_is_refused(change, words):
    with pytest.raises(TableError, match=words):
        plot_bandwidth(Density(bandwidth_curve_={**CURVE, **change}, best_bandwidth_=1.0))
    with pytest.raises(TableError, match="no column 'held_out'"):
        plot_bandwidth(Density(bandwidth_curve_={"bandwidth": [1.0], "train": [1.0]}, best_bandwidth_=1.0))


# -- helpers of pictures --------------------------------------------------------------


def test_colors_come_again_with_another_mark_and_pale_where_a_model_is_not_sure():
    assert (look(0), look(10)) == (("#0072b2", "o"), ("#0072b2", "D"))
    assert shades(0, None).tolist() == shades(10, None).tolist() == [184, 216, 233]
    assert shades(np.array([0, 1]), np.array([0.0, 1.0])).tolist() == [[237, 245, 250], [237, 184, 143]]


def test_texts_are_shortened():
    assert shortened("a discriminant of many words", 80, 12) == "a discrimina…"


def test_panels_stand_side_by_side_in_rows_of_three_or_four():
    made = [Scene(None, (), None, None, [None] * n, "") for n in (1, 4, 5, 7, 9)]
    assert [scene.columns for scene in made] == [1, 4, 3, 4, 3]


def test_two_attributes_are_taken_from_a_table_with_its_classes():
    found = plot_data(samples.load("weather").frame, "play", None)
    assert (found.pair, found.classes, found.xy[0].tolist()) == (
        ("temperature", "humidity"),
        ("no", "yes"),
        [85.0, 85.0],
    )
    assert spread_out(np.array([[0.0, 0.0], [0.1, 0.0], [1.0, 1.0], [0.9, 1.0]]), most=2).tolist() == [0, 3]


def test_other_columns_of_an_array_stand_still():
    X = np.array([[1.0, 2.0, 7.0], [3.0, 4.0, 9.0]])
    frame = frame_of(X)
    new = {"x0": np.array([5.0, 6.0]), "x1": np.array([0.0, 1.0])}
    assert moved(X, frame, new, still(frame, None, ("x0", "x1"))).tolist() == [[5.0, 0.0, 8.0], [6.0, 1.0, 8.0]]


def test_a_boundary_without_scores_is_half_way():
    lines = boundary(np.array([[0, 1], [0, 1]]), None, np.array([0.0, 1.0]), np.array([0.0, 2.0]))
    assert lines.tolist() == [[[0.5, 0.0], [0.5, 2.0]]]


def test_runs_of_equal_values_are_rectangles_and_paths_are_short():
    expected = [(0, 0, 0, 2, 2), (1, 2, 0, 1, 2), (0, 0, 2, 1, 1), (1, 1, 2, 2, 1)]
    assert runs(np.array([[0, 0, 1], [0, 0, 1], [0, 1, 1]])) == expected
    assert _short(10.0, -0.26, -0.01) == "10-0.3 0"
    assert nice_ticks(-0.13, 0.42)[:2] == [(-0.1, "−0.1"), (0.0, "0.0")]


def test_layers_of_small_graphs():
    assert layers_of(Graph({"a": (), "b": ("a",), "c": ("b", "d"), "d": ()})) == {"a": 0, "b": 1, "c": 2, "d": 1}
    assert crossings(LayerRows({"a": 0, "b": 0, "c": 1, "d": 1}, [("a", "d"), ("b", "c")])) == 1
    found = layout(Graph({"a": (), "b": ("a",)}), {"a": (40, 20), "b": (60, 20)})
    assert (found.corners["a"], found.corners["b"][0], found.width) == ((10.0, 0.0), 0.0, 60.0)
    assert _spaced([0.0, 0.0, 30.0], [1, 1, 1], 10.0, 40.0) == [-5.0, 5.0, 30.0]


def test_a_small_network_is_drawn_with_what_follows_from_the_evidence():
    both = ("no", "yes")
    graph = Graph({"rain": (), "wet": ("rain",)})
    tables = {"rain": np.array([0.8, 0.2]), "wet": np.array([[0.9, 0.1], [0.1, 0.9]])}
    net = Net(graph, {"rain": Nominal("rain", both), "wet": Nominal("wet", both)}, tables, {})
    picture = network_svg(net, {"wet": "yes"})
    assert picture.startswith("<svg")
    assert "69.2 %" in picture
    assert ">given<" in picture
    assert graph_svg(graph).count('class="arc"') == 1
