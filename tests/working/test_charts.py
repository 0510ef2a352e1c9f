"""Charts as text."""

from __future__ import annotations

import math

import pytest

from countwise.working.charts import bar_chart, line_chart, supports_unicode


def places(chart: str, mark: str) -> list[tuple[int, int]]:
    """Row and column of each mark, counted from the upper left of the picture."""
    lines = [line for line in chart.split("\n") if "|" in line]
    start = lines[0].index("|") + 1
    return [(r, c - start) for r, line in enumerate(lines) for c, cell in enumerate(line) if cell == mark]


def test_points_stand_where_their_numbers_are():
    chart = line_chart({"up": [(0, 0), (5, 5), (10, 10)]}, width=24, height=11, unicode=False)
    assert places(chart, "*") == [(0, 19), (5, 10), (10, 0)]
    assert chart.split("\n")[0].startswith("10 |")
    assert chart.split("\n")[-2].split() == ["0", "10"]


def test_a_logarithmic_axis_has_equal_steps_for_equal_factors():
    chart = line_chart({"a": [(1, 0), (10, 1), (100, 2)]}, width=24, height=3, log_x=True, unicode=False)
    columns = sorted(c for _, c in places(chart, "*"))
    assert columns[0] == 0
    assert columns[2] == 2 * columns[1]


def test_several_lines_have_marks_of_their_own_and_a_legend():
    chart = line_chart({"one": [(0, 0), (1, 0)], "other": [(0, 1), (1, 1)]}, width=30, height=5, unicode=False)
    assert [r for r, _ in places(chart, "*")] == [4, 4]
    assert [r for r, _ in places(chart, "o")] == [0, 0]
    assert chart.endswith("* one  o other")


def test_where_lines_meet_the_first_is_on_top():
    chart = line_chart({"one": [(0, 0), (1, 1)], "other": [(0, 1), (1, 1)]}, width=30, height=5, unicode=False)
    assert (0, len(chart.split("\n")[5]) - chart.split("\n")[5].index("+") - 2) in places(chart, "*")


@pytest.mark.parametrize("width", [30, 64, 72])
def test_no_line_is_wider_than_asked_for(width):
    series = {f"a line with a long name {i}": [(x, x * i) for x in range(40)] for i in range(5)}
    chart = line_chart(series, width=width, x_label="rows learned from", y_label="error")
    assert max(map(len, chart.split("\n"))) <= width


@pytest.mark.parametrize("points", [[(1, 1)], [(1, 1), (2, 1)], [(1, 0), (1, 2)], [(1, math.nan), (2, 3)],
                                    [(1, -math.inf), (2, 3), (3, 4)]])  # fmt: skip
def test_odd_points_are_drawn_or_left_out(points):
    good = [p for p in points if math.isfinite(p[1])]
    assert len(places(line_chart({"a": points}, unicode=False, width=30, height=5), "*")) == len(good)


def test_nothing_is_said_to_be_nothing():
    assert line_chart({"a": [(1, math.nan)]}) == "(nothing to draw)"
    assert line_chart({}) == "(nothing to draw)"
    assert bar_chart({}) == ""


def test_plain_ascii_has_no_other_characters():
    series = {str(i): [(x, x**i) for x in range(5)] for i in range(9)}
    assert line_chart(series, unicode=False).isascii()
    assert bar_chart({"a": 3, "b": 0.2}, unicode=False).isascii()
    assert not line_chart(series).isascii()


def test_bars_are_as_long_as_their_values():
    a, b, c, d = bar_chart({"a": 4, "b": 2, "c": 0, "d": math.nan}, width=20, unicode=False).split("\n")
    assert a.count("#") == 2 * b.count("#") == 16
    assert c.split() == ["c", "0"]
    assert d.split() == ["d", "?"]
    whole, half = bar_chart({"a": 1.0, "b": 0.53125}, width=20, notes=["", ""], most=1.0).split("\n")
    assert whole == "a " + "█" * 17
    assert half.count("█") == 9  # and an eighth of a cell or none


def test_encodings_that_lack_the_marks_are_known():
    assert supports_unicode("UTF-8")
    assert not any(map(supports_unicode, ("ascii", "latin-1", "cp1252", "no-such", None)))
