"""The laws of ranges: what must hold of every rule, whatever the table."""

from __future__ import annotations

import warnings
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from countwise import Discretizer, cuts, measures
from countwise.cuts import methods
from countwise.errors import DataWarning
from countwise.tallies import Values

from .strategies import few, many, some

RULES: dict[str, dict[str, Any]] = {
    "naive": {"method": "naive"},
    "equal width": {"method": "equal_width", "n_bins": 3},
    "equal frequency": {"method": "equal_frequency", "n_bins": 3},
    "k-means": {"method": "kmeans", "n_bins": 3},
    "Lloyd": {"method": "lloyd", "n_bins": 3, "n_init": 3},
    "equal width, best number": {"method": "equal_width", "n_bins": "leave_one_out"},
    "equal frequency, best number": {"method": "equal_frequency", "n_bins": "leave_one_out"},
    "k-means, best number": {"method": "kmeans", "n_bins": "leave_one_out"},
    "class contiguous": {"method": "class_contiguous"},
    "class contiguous, min size": {"method": "class_contiguous", "min_size": 3},
    "min n": {"method": "min_n", "n": 2},
    "min n, majority": {"method": "min_n", "n": 2, "merge": "majority"},
    "min n, last": {"method": "min_n", "n": 3, "merge": "last"},
    "mdl": {"method": "mdl"},
    "given": {"method": [-2.0, 0.5, 3.0]},
}
WIDTHS = {
    "equal width",
    "equal width, best number",
    "given",
    "Lloyd",
    "Lloyd, given centers",
}  # a range may hold nothing
CLASSES = ("a", "b", "c")
ENCODINGS = ("labels", "codes", "onehot")


class Rows:
    """Two columns of numbers with gaps and ties, a class that depends on the first, and whole weights."""

    def __init__(self, x: np.ndarray, z: np.ndarray, y: np.ndarray, weights: np.ndarray) -> None:
        self.x, self.z, self.y, self.weights = x, z, y, weights

    @property
    def frame(self) -> dict[str, np.ndarray]:
        return {"x": self.x, "z": self.z}

    def take(self, rows: Any) -> Rows:
        return Rows(self.x[rows], self.z[rows], self.y[rows], self.weights[rows])

    def __len__(self) -> int:
        return len(self.y)

    def __repr__(self) -> str:
        return f"Rows({self.x.tolist()}, {self.z.tolist()}, {self.y.tolist()}, {self.weights.tolist()})"


@st.composite
def tables(draw: Any, min_rows: int = 2, max_rows: int = 30, gaps: bool = True) -> Rows:
    n = draw(st.integers(min_rows, max_rows))
    raw = np.frombuffer(draw(st.binary(min_size=5 * n, max_size=5 * n)), dtype=np.uint8).reshape(n, 5).astype(int)
    spread, noise = draw(st.sampled_from([3, 9, 60])), draw(st.sampled_from([1, 4, 10]))
    x = (raw[:, 0] % spread - spread // 2) / 8
    y = np.where(raw[:, 1] % 10 < noise, raw[:, 2] % 3, (raw[:, 0] % spread) * 3 // spread)
    z = (raw[:, 3] - 128) / 4
    if gaps:
        x = np.where(raw[:, 1] >= 220, np.nan, x)
        z = np.where(raw[:, 2] >= 220, np.nan, z)
    return Rows(x, z, np.array(CLASSES, dtype=object)[y], 1 + raw[:, 4] % 3)


def fitted(rule: str, rows: Rows, weights: Any = None, **changes: Any) -> Discretizer:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "'.* a single bin", DataWarning)
        return Discretizer(**{**RULES[rule], **changes}).fit(rows.frame, rows.y, sample_weight=weights)


def quietly(call: Any, *args: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        return call(*args)


def assert_same(ours: Discretizer, theirs: Discretizer, exact: bool = True) -> None:
    assert list(ours.edges_) == list(theirs.edges_)
    for name in ours.edges_:
        if exact:
            assert ours.edges_[name].tolist() == theirs.edges_[name].tolist()
        else:
            np.testing.assert_allclose(ours.edges_[name], theirs.edges_[name], rtol=1e-12, atol=1e-12)
        assert_same_reports(ours, theirs, name)


def assert_same_reports(ours: Discretizer, theirs: Discretizer, name: str) -> None:
    a, b = ours.report(name).to_dict(), theirs.report(name).to_dict()
    assert a["ranges"] == b["ranges"]
    assert a["notes"] == b["notes"]
    assert a["missing"] == b["missing"]
    assert [cut["why"] for cut in a["cuts"]] == [cut["why"] for cut in b["cuts"]]
    for label in a["counts"]:
        np.testing.assert_array_equal(a["counts"][label], b["counts"][label])
    assert (a["information_bits"] is None) == (b["information_bits"] is None)
    if a["information_bits"] is not None:
        for when in ("before", "after"):
            assert a["information_bits"][when] == pytest.approx(b["information_bits"][when], rel=1e-12, abs=1e-13)


def codes_of(cutter: Discretizer, frame: Any) -> dict[str, np.ndarray]:
    """The number of each cell's range, NaN where the cell is missing."""
    before, cutter.encode = cutter.encode, "codes"
    found = quietly(cutter.transform, frame)
    cutter.encode = before
    return found


# -- weights, order, names -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [np.int64, np.float64])
@pytest.mark.parametrize("rule", RULES)
@some
@given(rows=tables())
def test_a_weight_of_n_is_n_copies(rule, kind, rows):
    copies = rows.take(np.repeat(np.arange(len(rows)), rows.weights))
    assert_same(fitted(rule, rows, rows.weights.astype(kind)), fitted(rule, copies))


@pytest.mark.parametrize("rule", RULES)
@some
@given(rows=tables(), data=st.data())
def test_a_weight_of_nothing_is_no_row(rule, rows, data):
    there = np.array(data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows))))
    assume(set(rows.y[there].tolist()) == set(rows.y.tolist()))
    assert_same(fitted(rule, rows, there.astype(int)), fitted(rule, rows.take(there)))


@pytest.mark.parametrize("rule", RULES)
@some
@given(rows=tables(), data=st.data())
def test_the_order_of_the_rows_changes_nothing(rule, rows, data):
    order = data.draw(st.permutations(range(len(rows))))
    assert_same(fitted(rule, rows.take(np.array(order))), fitted(rule, rows))


@pytest.mark.parametrize("rule", RULES)
@some
@given(rows=tables(), names=st.permutations(["p", "q", "r"]))
def test_the_names_of_the_classes_change_nothing_but_names(rule, rows, names):
    new = dict(zip(CLASSES, names, strict=True))
    renamed = Rows(rows.x, rows.z, np.array([new[c] for c in rows.y], dtype=object), rows.weights)
    ours, theirs = fitted(rule, renamed), fitted(rule, rows)
    for name in theirs.edges_:
        assert ours.edges_[name].tolist() == theirs.edges_[name].tolist()
        counts, before = ours.report(name).to_dict()["counts"], theirs.report(name).to_dict()["counts"]
        assert counts == {new.get(c, c): row for c, row in before.items()}


@pytest.mark.parametrize("rule", RULES)
@some
@given(rows=tables())
def test_the_order_of_the_columns_changes_nothing(rule, rows):
    ours, theirs = fitted(rule, rows), fitted(rule, rows)
    turned = quietly(Discretizer(**RULES[rule]).fit, {"z": rows.z, "x": rows.x}, rows.y)
    assert list(turned.edges_) == ["z", "x"]
    for name in theirs.edges_:
        assert turned.edges_[name].tolist() == ours.edges_[name].tolist()


# -- pieces --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", RULES)
@some
@given(rows=tables(min_rows=3), data=st.data())
def test_partial_fit_in_any_split_is_fit(rule, rows, data):
    ends = sorted(data.draw(st.sets(st.integers(1, len(rows) - 1), max_size=3)))
    cutter = Discretizer(**RULES[rule])
    for piece in np.split(np.arange(len(rows)), ends):
        part = rows.take(piece)
        quietly(cutter.partial_fit, part.frame, part.y)
    assert_same(cutter, fitted(rule, rows))


@pytest.mark.parametrize("rule", RULES)
@some
@given(rows=tables(min_rows=3), data=st.data())
def test_the_sum_of_two_is_the_fit_of_both(rule, rows, data):
    end = data.draw(st.integers(1, len(rows) - 1))
    a, b = (fitted(rule, rows.take(part)) for part in (slice(0, end), slice(end, None)))
    assert_same(quietly(a.__add__, b), fitted(rule, rows))
    assert_same(quietly(b.__add__, a), fitted(rule, rows))


@pytest.mark.parametrize("rule", RULES)
@some
@given(rows=tables(min_rows=3), data=st.data())
def test_what_is_forgotten_was_never_there(rule, rows, data):
    end = data.draw(st.integers(1, len(rows) - 1))
    gone = rows.take(slice(end, None))
    cutter = fitted(rule, rows)
    quietly(cutter.forget, gone.frame, gone.y)
    assert_same(cutter, fitted(rule, rows.take(slice(0, end))))


# -- the scale of the numbers --------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule != "given"])
@some
@given(rows=tables(), a=st.sampled_from([0.25, 1.0, 2.0, 3.0]), b=st.integers(-800, 800).map(lambda k: k / 8))
def test_a_rising_straight_line_moves_the_edges_along(rule, rows, a, b):
    moved = Rows(a * rows.x + b, a * rows.z + b, rows.y, rows.weights)
    ours, theirs = fitted(rule, moved), fitted(rule, rows)
    for name in theirs.edges_:
        wanted = a * theirs.edges_[name] + b
        assert len(ours.edges_[name]) == len(wanted)
        np.testing.assert_allclose(ours.edges_[name], wanted, rtol=1e-12, atol=1e-10)


@pytest.mark.parametrize("rule", ["naive", "class contiguous", "min n", "min n, majority", "min n, last", "mdl"])
@some
@given(rows=tables(gaps=False))
def test_a_rising_curve_moves_the_rows_to_the_same_ranges(rule, rows):
    """These rules look at the order of the numbers alone."""
    bent = Rows(np.sinh(rows.x / 4), rows.z**3, rows.y, rows.weights)
    ours, theirs = codes_of(fitted(rule, bent), bent.frame), codes_of(fitted(rule, rows), rows.frame)
    for name in theirs:
        np.testing.assert_array_equal(ours[name], theirs[name])


# -- what each rule promises ---------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", RULES)
@some
@given(rows=tables())
def test_edges_ascend_and_lie_among_the_values_and_no_range_is_empty_in_silence(rule, rows):
    cutter = fitted(rule, rows)
    for name, edges in cutter.edges_.items():
        assert (np.diff(edges) > 0).all()
        known = rows.frame[name][~np.isnan(rows.frame[name])]
        if rule != "given":
            assert all(known.min() <= edge < known.max() for edge in edges)
        report = cutter.report(name)
        if rule not in WIDTHS and len(known) and (report.counts.sum(axis=0) == 0).any():
            assert any("no training value" in note for note in report.notes), report


@pytest.mark.parametrize("rule", RULES)
@some
@given(rows=tables())
def test_the_table_cut_has_the_counts_of_the_report(rule, rows):
    cutter = fitted(rule, rows)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no cell of training is outside
        codes = cutter.transform(rows.frame)
    for name, cells in codes.items():
        report = cutter.report(name).to_dict()
        for label in sorted(set(rows.y.tolist())):
            mine = cells[rows.y == label].tolist()
            counted = report["counts"][label] if len(report["counts"]) > 1 else None
            if counted is not None:
                assert [mine.count(text) for text in report["ranges"]] == counted
        assert sum(cell is None for cell in cells.tolist()) == report["missing"]


@pytest.mark.parametrize("rule", RULES)
@some
@given(rows=tables())
def test_ranges_never_tell_more_than_the_values(rule, rows):
    """The data processing inequality."""
    cutter = fitted(rule, rows)
    for name in cutter.edges_:
        report = cutter.report(name)
        if len(set(rows.y.tolist())) < 2:
            assert np.isnan(report.before)
            continue
        assert -1e-12 <= report.after <= report.before + 1e-12
        assert report.before <= measures.entropy(np.unique(rows.y.astype(str), return_counts=True)[1]) + 1 + 1e-12


@some
@given(rows=tables())
def test_each_value_on_its_own_loses_nothing(rows):
    report = fitted("naive", rows).report("x")
    if len(set(rows.y.tolist())) > 1:
        assert report.after == pytest.approx(report.before, rel=1e-12, abs=1e-13)


def classes_at(rows: Rows) -> dict[float, set[str]]:
    found: dict[float, set[str]] = {}
    for v, c in zip(rows.x.tolist(), rows.y.tolist(), strict=True):
        if v == v:
            found.setdefault(v, set()).add(c)
    return dict(sorted(found.items()))


@many
@given(rows=tables())
def test_a_range_of_one_class_goes_on_just_as_long_as_some_class_is_at_every_value(rows):
    at = classes_at(rows)
    edges = [-np.inf, *fitted("class contiguous", rows).edges_["x"].tolist(), np.inf]
    if len(set().union(*at.values()) if at else ()) < 2:
        assert len(edges) == 2
        return
    for i, (low, high) in enumerate(pairwise(edges)):
        inside = [v for v in at if low < v <= high]
        common = set.intersection(*(at[v] for v in inside))
        assert common
        if i + 2 < len(edges):
            after = min(v for v in at if v > high)
            assert not common & at[after]
            assert high == inside[-1] + (after - inside[-1]) / 2


def held(rows: Rows, low: float, high: float) -> dict[str, int]:
    inside = (rows.x > low) & (rows.x <= high)
    return {c: int(np.count_nonzero(rows.y[inside] == c)) for c in CLASSES}


@pytest.mark.parametrize("n", [1, 2, 3, 5])
@some
@given(rows=tables(max_rows=50))
def test_a_range_holds_n_of_one_class_before_it_ends(n, rows):
    edges = [-np.inf, *fitted("min n", rows, n=n).edges_["x"].tolist(), np.inf]
    values = sorted({v for v in rows.x.tolist() if v == v})
    for low, high in list(pairwise(edges))[:-1]:
        counts = held(rows, low, high)
        most = max(counts.values())
        assert most >= n
        after = min(v for v in values if v > high)
        here = rows.y[rows.x == after]
        assert not any(counts[c] == most for c in here)
        # and not before: at every value inside, it was too few still, or its class went on
        inside = [v for v in values if low < v <= high]
        for last, following in pairwise(inside):
            so_far = held(rows, low, last)
            commonest = {c for c, k in so_far.items() if k == max(so_far.values())}
            assert max(so_far.values()) < n or commonest & set(rows.y[rows.x == following].tolist())


@some
@given(rows=tables(max_rows=50))
def test_after_the_last_range_is_joined_every_range_holds_n_of_one_class(rows):
    edges = [-np.inf, *fitted("min n, last", rows).edges_["x"].tolist(), np.inf]
    if len(edges) > 2:
        assert all(max(held(rows, low, high).values()) >= 3 for low, high in pairwise(edges))
    plain = fitted("min n", rows, n=3).edges_["x"].tolist()
    assert edges[1:-1] in (plain, plain[:-1])


@some
@given(rows=tables(max_rows=50))
def test_after_joining_majorities_no_two_neighbors_have_the_same_one(rows):
    edges = [-np.inf, *fitted("min n, majority", rows).edges_["x"].tolist(), np.inf]
    commonest = []
    for low, high in pairwise(edges):
        counts = held(rows, low, high)
        commonest.append({c for c, k in counts.items() if k == max(counts.values())})
    for a, b in pairwise(commonest):
        assert not (a == b and len(a) == 1)


@some
@given(rows=tables())
def test_the_best_number_of_ranges_is_the_best(rows):
    """By its own definition: leave each row out, count the others, add one imagined row of each class."""
    assume(len(set(rows.y[~np.isnan(rows.x)].tolist())) > 1)
    tally = Values.from_arrays(rows.x, rows.y)
    most = min(50, len(tally.pooled[0]))
    found = {
        k: methods.leave_one_out_score(tally.counts_in(cuts.equal_width(tally, k).edges).T)
        for k in range(1, most + 1)
    }
    chosen = cuts.best_number(cuts.equal_width, tally)
    score = methods.leave_one_out_score(tally.counts_in(chosen.edges).T)
    assert score == pytest.approx(max(found.values()), rel=1e-11)


# -- there and back ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("encode", ENCODINGS)
@pytest.mark.parametrize("rule", RULES)
@some
@given(rows=tables())
def test_missing_stays_missing_in_every_encoding(rule, encode, rows):
    cutter = fitted(rule, rows, encode=encode)
    out = cutter.transform(pd.DataFrame(rows.frame))
    assert list(out.columns) == cutter.get_feature_names_out().tolist()
    for name in ("x", "z"):
        gone = np.isnan(rows.frame[name])
        own = [c for c in out.columns if c.split(" ")[0] == name]
        assert own
        for column in own:
            np.testing.assert_array_equal(out[column].isna(), gone)
        if encode == "onehot":
            assert (out[own].sum(axis=1)[~gone] == 1).all()


@pytest.mark.parametrize("encode", ENCODINGS)
@pytest.mark.parametrize("rule", RULES)
@some
@given(rows=tables())
def test_the_middle_of_a_range_lies_in_it(rule, encode, rows):
    cutter = fitted(rule, rows, encode=encode)
    back = cutter.inverse_transform(cutter.transform(pd.DataFrame(rows.frame)))
    assert list(back.columns) == ["x", "z"]
    ours, theirs = codes_of(cutter, back), codes_of(cutter, pd.DataFrame(rows.frame))
    for name in ("x", "z"):
        np.testing.assert_array_equal(ours[name], theirs[name])


def kinds_of(rows: Rows) -> dict[str, Any]:
    numbers = np.column_stack([rows.x, rows.z])
    cells = [[None if v != v else v for v in row] for row in numbers.tolist()]
    return {
        "pandas": pd.DataFrame(rows.frame),
        "pandas, nullable": pd.DataFrame(rows.frame).astype("Float64"),
        "polars": pl.DataFrame(rows.frame),
        "polars, null": pl.DataFrame(cells, schema={"x": pl.Float64, "z": pl.Float64}, orient="row"),
        "pyarrow": pa.table({"x": [c[0] for c in cells], "z": [c[1] for c in cells]},
                            schema=pa.schema([("x", pa.float64()), ("z", pa.float64())])),
        "dict": rows.frame,
        "dict of float32": {name: column.astype(np.float32) for name, column in rows.frame.items()},
        "list of dicts": [dict(zip(("x", "z"), row, strict=True)) for row in cells],
        "numpy": numbers,
        "numpy, float32": numbers.astype(np.float32),
        "numpy, fortran": np.asfortranarray(numbers),
        "numpy, strided": np.repeat(numbers, 2, axis=0)[::2],
        "list of lists": numbers.tolist(),
    }  # fmt: skip


@pytest.mark.parametrize("rule", RULES)
@few
@given(rows=tables())
def test_every_kind_of_table_gives_the_same_edges_and_ranges(rule, rows):
    assume(not np.isnan(rows.x).all())
    assume(not np.isnan(rows.z).all())
    wanted = list(fitted(rule, rows).edges_.values())
    codes = codes_of(fitted(rule, rows), rows.frame)
    for kind, table in kinds_of(rows).items():
        cutter = quietly(Discretizer(**RULES[rule], encode="codes").fit, table, rows.y)
        assert [e.tolist() for e in cutter.edges_.values()] == [e.tolist() for e in wanted], kind
        out = np.asarray(pd.DataFrame(_as_columns(quietly(cutter.transform, table))), dtype=np.float64)
        np.testing.assert_array_equal(out, np.column_stack(list(codes.values())), err_msg=kind)


def _as_columns(table: Any) -> Any:
    if isinstance(table, pa.Table):
        return table.to_pandas()
    if isinstance(table, pl.DataFrame):
        return {name: table[name].to_numpy() for name in table.columns}
    return table


@some
@given(rows=tables(gaps=False))
def test_an_array_of_objects_that_are_numbers_is_cut_when_it_is_said_to_be_numbers(rows):
    objects = np.column_stack([rows.x, rows.z]).astype(object)
    cutter = quietly(Discretizer("equal_width", n_bins=3, types="numeric").fit, objects)
    wanted = fitted("equal width", rows)
    assert [e.tolist() for e in cutter.edges_.values()] == [e.tolist() for e in wanted.edges_.values()]


@pytest.mark.parametrize("encode", ENCODINGS)
@pytest.mark.parametrize("asked", ["pandas", "polars"])
@some
@given(rows=tables(gaps=False))
def test_set_output_gives_the_frame_that_is_asked_for(asked, encode, rows):
    assume(len(set(rows.x.tolist())) > 1)
    assume(len(set(rows.z.tolist())) > 1)
    kind = pd.DataFrame if asked == "pandas" else pl.DataFrame
    plain = fitted("equal width", rows, encode=encode)
    wanted = plain.transform(rows.frame)
    for table in (rows.frame, pd.DataFrame(rows.frame), pl.DataFrame(rows.frame), pa.table(rows.frame)):
        out = fitted("equal width", rows, encode=encode).set_output(transform=asked).transform(table)
        assert isinstance(out, kind)
        assert list(out.columns) == plain.get_feature_names_out().tolist()
        for name, column in wanted.items():
            assert out[name].to_list() == column.tolist()
