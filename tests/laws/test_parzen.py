"""The laws of Parzen densities and prototypes: they add up to 1, weights are copies, and pieces are the whole."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from countwise import Nominal, Numeric, Ordinal, ParzenClassifier, ParzenDensity, PrototypeClassifier
from countwise.data.table import Table
from countwise.data.vectors import Vector
from countwise.errors import CountwiseError
from countwise.tallies import Rows

from .strategies import CLASSES, NOMINAL, few, many, some, splits

ORDER = ("low", "middle", "high")
TYPES = {"w": Nominal("w", NOMINAL), "o": Ordinal("o", ORDER)}
WIDTHS = {"x": 1.5, "z": 0.75, "w": 0.3, "o": 0.4}
RULES = ("silverman", "scott", "sheather_jones", "leave_one_out")


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COUNTWISE_THREADS", "1")
        yield


@dataclass(frozen=True)
class Cells:
    """Columns of each kind, classes and whole weights."""

    frame: dict[str, np.ndarray]
    y: np.ndarray
    weights: np.ndarray

    def __len__(self) -> int:
        return len(self.y)

    def take(self, which: Any) -> Cells:
        return Cells({k: v[which] for k, v in self.frame.items()}, self.y[which], self.weights[which])

    def only(self, *names: str) -> Cells:
        return Cells({name: self.frame[name] for name in names}, self.y, self.weights)


def objects(values: Any) -> np.ndarray:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


@st.composite
def tables(draw: Any, names: str = "xzwo", *, min_rows: int = 1, max_rows: int = 12, gaps: bool = True) -> Cells:
    """Numbers are eighths, so that shifting by whole numbers and scaling by powers of two is exact."""
    n = draw(st.integers(min_rows, max_rows))
    size = n * 10
    raw = np.frombuffer(draw(st.binary(min_size=size, max_size=size)), np.uint8).reshape(n, 10).astype(int)
    missing = {name: gaps & (raw[:, 2 * j] % 5 == 4) for j, name in enumerate("xzwo")}
    number = {name: np.where(missing[name], np.nan, (raw[:, 2 * j + 1] - 128) / 8) for j, name in enumerate("xz")}
    w = objects([None if gone else NOMINAL[b % 4] for b, gone in zip(raw[:, 5], missing["w"], strict=True)])
    o = objects([None if gone else ORDER[b % 3] for b, gone in zip(raw[:, 7], missing["o"], strict=True)])
    frame = {name: {**number, "w": w, "o": o}[name] for name in names}
    return Cells(frame, objects([CLASSES[b % 3] for b in raw[:, 8]]), 1 + raw[:, 9] % 3)


def known(cells: Cells, least: int = 1) -> bool:
    """Whether every column has that many cells."""
    return all(sum(v == v and v is not None for v in column.tolist()) >= least for column in cells.frame.values())


def spread(cells: Cells) -> bool:
    """Whether every column of numbers has a width by rule."""
    numbers = [v for name, v in cells.frame.items() if name in "xz"]
    return all(len(np.unique(v[~np.isnan(v)])) > 1 for v in numbers)


def density(cells: Cells, bandwidth: Any = None, *, weighted: bool = False, **settings: Any) -> ParzenDensity:
    bandwidth = {name: WIDTHS[name] for name in cells.frame} if bandwidth is None else bandwidth
    types = {name: kind for name, kind in TYPES.items() if name in cells.frame}
    model = ParzenDensity(bandwidth, types=types, **settings)
    return model.fit(cells.frame, sample_weight=cells.weights if weighted else None)


def f(model: ParzenDensity, **columns: Any) -> np.ndarray:
    return np.exp(model.score_samples(columns))


LINE = np.arange(-31.0, 31.0, 0.25)  # a step of h/3 or finer: for Gaussians the trapezoid errs by less than 1e-70


# -- densities are densities -------------------------------------------------------------------------------------


@few
@given(cells=tables(), weighted=st.booleans())
def test_a_density_of_everything_adds_up_to_1(cells, weighted):
    assume(known(cells))
    model = density(cells, weighted=weighted)
    x = np.arange(-31.0, 31.0, 0.75)
    z = np.arange(-25.0, 25.0, 0.375)
    total = 0.0
    for w, o in itertools.product(NOMINAL, ORDER):
        xs, zs = (a.ravel() for a in np.meshgrid(x, z))
        total += f(model, x=xs, z=zs, w=objects([w] * len(xs)), o=objects([o] * len(xs))).sum() * 0.75 * 0.375
    assert_allclose(total, 1.0, rtol=1e-9)


@pytest.mark.parametrize("kernel", ["epanechnikov", "uniform"])
@some
@given(cells=tables("xwo"))
def test_a_density_of_compact_kernels_adds_up_to_1(kernel, cells):
    """Between the ends of all bumps it is a polynomial: three points of Gauss and Legendre have it exactly."""
    assume(known(cells))
    model = density(cells, kernel=kernel)
    x = cells.frame["x"][~np.isnan(cells.frame["x"])]
    knots = np.unique(np.concatenate([x - WIDTHS["x"], x + WIDTHS["x"]]))
    nodes, shares = np.polynomial.legendre.leggauss(3)
    half = np.diff(knots)[:, None] / 2
    points, weights = (knots[:-1, None] + half * (1 + nodes)).ravel(), (half * shares).ravel()
    total = 0.0
    for w, o in itertools.product(NOMINAL, ORDER):
        total += (weights * f(model, x=points, w=objects([w] * len(points)), o=objects([o] * len(points)))).sum()
    assert_allclose(total, 1.0, rtol=1e-9)


@some
@given(cells=tables(), at=st.tuples(st.sampled_from(NOMINAL), st.sampled_from(ORDER), st.integers(-40, 40)))
def test_a_missing_cell_of_a_query_is_summed_over(cells, at):
    assume(known(cells))
    model = density(cells)
    w, o, eighth = at
    row = {"x": [eighth / 2], "z": [-eighth / 4], "w": objects([w]), "o": objects([o])}
    for name, every in {"x": LINE, "z": LINE, "w": objects(NOMINAL), "o": objects(ORDER)}.items():
        many_rows = {k: np.repeat(np.asarray(v), len(every)) for k, v in row.items()} | {name: every}
        integral = f(model, **many_rows).sum() * (0.25 if name in "xz" else 1.0)
        gap = {**row, name: np.array([np.nan]) if name in "xz" else objects([None])}
        assert_allclose(f(model, **gap), integral, rtol=1e-9, atol=1e-300)
    nothing = {"x": [np.nan], "z": [np.nan], "w": objects([None]), "o": objects([None])}
    assert f(model, **nothing).tolist() == [1.0]


# -- weights, order, pieces --------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:The best bandwidth")  # copies are found again, as they are told to be
@pytest.mark.parametrize("names", ["x", "xwo", "xz"])
@pytest.mark.parametrize("rule", ["given", *RULES, "k_fold"])
@few
@given(data=st.data())
def test_a_weight_of_n_is_n_copies(rule, names, data):
    # where a fold alone has the cells of a column: see the unit tests
    cells = data.draw(tables(names, min_rows=4, gaps=rule != "k_fold"))
    assume(known(cells) and (rule == "given" or spread(cells)))
    bandwidth = None if rule == "given" else rule
    settings = {"cv": 2} if rule == "k_fold" else {}
    copies = cells.take(np.repeat(np.arange(len(cells)), cells.weights))
    one, other = density(cells, bandwidth, weighted=True, **settings), density(copies, bandwidth, **settings)
    # a likelihood known to 1e-15 has its peak at a place known to its root
    close = 1e-12 if rule in ("given", "silverman", "scott") else 1e-9 if rule == "sheather_jones" else 1e-5
    assert_allclose(
        list(one.bandwidths_.values()), list(other.bandwidths_.values()), rtol=close, atol=1e-4 * (close == 1e-5)
    )
    fixed = dict(one.bandwidths_)
    ours = density(cells, fixed, weighted=True).score_samples(cells.frame)
    assert_allclose(ours, density(copies, fixed).score_samples(cells.frame), rtol=1e-11, atol=1e-11)


@pytest.mark.filterwarnings(
    "ignore:The likelihood of the held-out rows is 0"
)  # a value that one row has is never foretold
@pytest.mark.filterwarnings("ignore:The best bandwidth")
@pytest.mark.parametrize("rule", ["given", *RULES])
@few
@given(data=st.data())
def test_the_order_of_rows_does_not_matter(rule, data):
    cells = data.draw(tables("xwo", min_rows=2))
    assume(known(cells) and (rule == "given" or spread(cells)))
    turned = cells.take(np.array(data.draw(st.permutations(range(len(cells))))))
    bandwidth = None if rule == "given" else rule
    one, other = density(cells, bandwidth), density(turned, bandwidth)
    close = 1e-5 if rule == "leave_one_out" else 1e-9
    assert_allclose(
        list(one.bandwidths_.values()), list(other.bandwidths_.values()), rtol=close, atol=1e-4 * (close == 1e-5)
    )
    same = density(turned, dict(one.bandwidths_)).score_samples(cells.frame)
    assert_allclose(one.score_samples(cells.frame), same, rtol=1e-11, atol=1e-11)


def models(names: str) -> dict[str, Any]:
    bandwidth = {
        name: WIDTHS[name] for name in names if name in "xz"
    }  # names grow as they come: no domain is declared
    return {
        "density": lambda: ParzenDensity(bandwidth),
        "parzen": lambda: ParzenClassifier(bandwidth),
        "mean": lambda: PrototypeClassifier(),
        "median": lambda: PrototypeClassifier("median", metric="manhattan", prior="raw"),
    }


def fit(model: Any, cells: Cells, how: str = "fit") -> Any:
    y = () if isinstance(model, ParzenDensity) else (cells.y,)
    return getattr(model, how)(cells.frame, *y, sample_weight=cells.weights)


def answers(model: Any, frame: Any) -> np.ndarray:
    return model.score_samples(frame) if isinstance(model, ParzenDensity) else model.predict_joint_log_proba(frame)


def assert_same(kind: str, ours: Any, theirs: Any, frame: Any) -> None:
    """To the last bit where the rows themselves are kept; means are added up in another order."""
    assert ours.schema_ == theirs.schema_
    if kind in ("density", "parzen"):
        assert {k: t.to_dict() for k, t in ours.tallies_.items()} == {
            k: t.to_dict() for k, t in theirs.tallies_.items()
        }
        assert_array_equal(answers(ours, frame), answers(theirs, frame))
    else:
        a, b = answers(ours, frame), answers(theirs, frame)
        assert_allclose(a, b, rtol=1e-9, atol=1e-9)


every_model = pytest.mark.parametrize("kind", ["density", "parzen", "mean", "median"])


@every_model
@some
@given(data=st.data())
def test_learning_in_any_split_is_learning_at_once(kind, data):
    cells = data.draw(tables("xw"))
    assume(known(cells.take(slice(0, 1))))  # what of rows without any cell: see below
    whole = fit(models("xw")[kind](), cells)
    model = models("xw")[kind]()
    for piece in data.draw(splits(len(cells))):
        fit(model, cells.take(piece), "partial_fit")
    assert_same(kind, model, whole, cells.frame)


def test_the_first_piece_may_be_too_little_for_a_width():
    frame, y = {"x": np.array([1.0, 2.0, 4.0, 7.0])}, objects(list("abab"))
    for whole in (ParzenDensity().fit(frame), ParzenClassifier().fit(frame, y)):
        model = type(whole)()
        for i in range(4):
            target = () if isinstance(model, ParzenDensity) else (y[i : i + 1],)
            model.partial_fit({"x": frame["x"][i : i + 1]}, *target)
        assert model.bandwidths_ == whole.bandwidths_


@every_model
@some
@given(data=st.data())
def test_merging_is_learning_from_both_and_forgetting_is_never_having_seen(kind, data):
    cells = data.draw(tables("xw", min_rows=2))
    cut = data.draw(st.integers(1, len(cells) - 1))
    a, b = cells.take(slice(0, cut)), cells.take(slice(cut, None))
    assume(known(a) and known(b))
    make = models("xw")[kind]
    first, second, whole = fit(make(), a), fit(make(), b), fit(make(), cells)
    assert_same(kind, first + second, whole, cells.frame)
    if kind == "mean" and len(np.unique(a.frame["x"])) < 2:
        return  # a spread taken back to 0 leaves rounding, which then is all the spread there is
    assert_same(kind, fit(whole, b, "forget"), first, a.frame)


# -- units -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("kernel", ["gaussian", "epanechnikov"])
@few
@given(data=st.data())
def test_shifting_and_scaling_a_column_scales_its_width_and_its_density(kernel, rule, data):
    cells = data.draw(tables("x", min_rows=3))
    assume(spread(cells))
    power, shift = data.draw(st.integers(-30, 30)), data.draw(st.integers(-8, 8))
    x, a = cells.frame["x"], 2.0**power
    one = ParzenDensity(rule, kernel=kernel).fit({"x": x})
    other = ParzenDensity(rule, kernel=kernel).fit({"x": a * (x + shift)})
    close = 1e-5 if rule == "leave_one_out" else 1e-9
    assert_allclose(other.bandwidths_["x"], a * one.bandwidths_["x"], rtol=close)
    other = ParzenDensity(a * one.bandwidths_["x"], kernel=kernel).fit({"x": a * (x + shift)})
    logs = one.score_samples({"x": x})
    expected = np.where(np.isnan(x), 0.0, logs - np.log(a))
    assert_allclose(other.score_samples({"x": a * (x + shift)}), expected, rtol=1e-9, atol=1e-9)


# -- held-out rows -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("names", ["x", "xz", "w", "xwo", "xzwo"])
@pytest.mark.parametrize("kernel", ["gaussian", "epanechnikov"])
@few
@given(data=st.data())
def test_leaving_one_out_is_fitting_without_it(kernel, names, data):
    cells = data.draw(tables(names, min_rows=3))
    assume(known(cells, 2))
    model = density(cells, weighted=True, kernel=kernel)
    total = 0.0
    for i in range(len(cells)):
        less = np.array(cells.weights)
        less[i] -= 1
        rest = Cells(cells.frame, cells.y, less)
        rest = rest.take(np.flatnonzero(less > 0))
        own = density(rest, weighted=True, kernel=kernel).score_samples(cells.take([i]).frame)[0]
        total += float(cells.weights[i] * own)
    factor = WIDTHS["x"] if names == "x" else 1.0
    assert_allclose(model.bandwidth_curve([factor])["held_out"], total, rtol=1e-9, atol=1e-9)


def test_equal_rows_of_broken_weight_are_left_out_one_by_one():
    x, w = np.array([0.0, 0.0, 1.0, 3.0]), np.array([0.5, 0.5, 1.0, 1.0])
    total = 0.0
    for i in range(4):
        rest = np.arange(4) != i
        total += w[i] * ParzenDensity(1.0).fit({"x": x[rest]}, sample_weight=w[rest]).score_samples({"x": x[[i]]})[0]
    beside = ParzenDensity({"x": 1.0, "w": 0.0}).fit({"x": x, "w": objects(list("uuuu"))}, sample_weight=w)
    assert_allclose(beside.bandwidth_curve([1.0])["held_out"], total, rtol=1e-9)
    alone = ParzenDensity(1.0).fit({"x": x}, sample_weight=w)
    assert_allclose(alone.bandwidth_curve([1.0])["held_out"], total, rtol=1e-9)


@many
@given(values=st.lists(st.integers(-400, 400), min_size=2, max_size=12, unique=True))
def test_the_likelihood_of_training_rows_falls_as_the_width_grows(values):
    model = ParzenDensity(1.0).fit({"x": np.array(values) / 8})
    train = np.array(model.bandwidth_curve(np.geomspace(0.01, 100, 25))["train"])
    assert (np.diff(train) < 1e-9 * np.abs(train[1:])).all()


@pytest.mark.parametrize("rule", ["leave_one_out", "k_fold"])
@some
@given(values=st.lists(st.integers(-400, 400), min_size=4, max_size=14, unique=True))
def test_the_best_bandwidth_is_where_the_held_out_curve_is_highest(rule, values):
    model = ParzenDensity(rule, cv=3).fit({"x": np.array(values) / 8})
    assert model.best_bandwidth_ == model.bandwidths_["x"]
    curve = model.bandwidth_curve_
    assert_allclose(curve["bandwidth"][20], model.best_bandwidth_, rtol=1e-12)
    assert curve["held_out"][20] >= max(curve["held_out"]) - 1e-9 * abs(curve["held_out"][20])


@pytest.mark.parametrize("kernel", ["epanechnikov", "uniform"])
@pytest.mark.parametrize("d", [1, 2])
def test_the_best_bandwidth_of_a_compact_kernel_reaches_every_row(d, kernel):
    X = np.concatenate([np.random.default_rng(0).normal(size=(60, d)), np.full((1, d), 100.0)])
    model = ParzenDensity("leave_one_out", kernel=kernel).fit(X)
    assert np.isfinite(model.bandwidth_curve([model.best_bandwidth_])["held_out"]).all()


# -- samples, workings, threads ----------------------------------------------------------------------------------


def mixed_frame(n: int = 60) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(5)
    frame = {"x": rng.gamma(2.0, 2.0, n), "w": rng.choice(NOMINAL, n).astype(object)}
    frame["o"] = rng.choice(ORDER, n, p=[0.6, 0.3, 0.1]).astype(object)
    frame["x"][:6] = np.nan
    frame["w"][3:9] = None
    frame["o"][5:12] = None
    return frame


@pytest.mark.parametrize("kernel", ["gaussian", "epanechnikov", "uniform"])
def test_samples_have_the_marginals_of_the_density(kernel):
    model = ParzenDensity({"x": 0.8, "w": 0.2, "o": 0.3}, kernel=kernel, types=TYPES).fit(mixed_frame())
    drawn = model.sample(20_000, random_state=1)
    line = np.linspace(-8, 40, 20_001)
    gaps = {"w": objects([None] * 20_002), "o": objects([None] * 20_001 + ["low"])}  # one more row, with a cell
    cdf = np.cumsum(f(model, x=np.append(line, 0.0), **gaps)[:-1]) * (line[1] - line[0])
    assert stats.kstest(drawn["x"], lambda v: np.interp(v, line, cdf)).pvalue > 1e-3
    pairs = list(itertools.product(NOMINAL, ORDER))  # of both together: the joint law, not only the margins
    w, o = (objects([pair[i] for pair in pairs]) for i in (0, 1))
    shares = np.concatenate([f(model, x=[np.nan, 0], w=w[[i, i]], o=o[[i, i]])[:1] for i in range(len(pairs))])
    seen = [sum((np.asarray(drawn["w"]) == a) & (np.asarray(drawn["o"]) == b)) for a, b in pairs]
    assert stats.chisquare(seen, shares * 20_000).pvalue > 1e-3


def test_samples_are_tables_of_the_kind_that_was_learned_from():
    frame = mixed_frame()
    rows = [{k: v[i] for k, v in frame.items()} for i in range(60)]
    given_as = [
        frame,
        rows,
        pd.DataFrame(frame),
        pl.DataFrame(frame),
        pa.table({k: v.tolist() for k, v in frame.items()}),
    ]
    for table in given_as:
        model = ParzenDensity().fit(table)
        drawn, again = model.sample(7, random_state=3), model.sample(7, random_state=3)
        assert type(drawn) is (dict if isinstance(table, list) else type(table))
        assert str(drawn) == str(again)
        assert np.isfinite(model.score_samples(drawn)).all()
    drawn = ParzenDensity().fit(np.random.default_rng(0).normal(size=(9, 3))).sample(4, random_state=0)
    assert isinstance(drawn, np.ndarray)
    assert drawn.shape == (4, 3)


def test_a_merged_density_draws_the_same_kind_of_table():
    half = ParzenDensity().fit(mixed_frame())
    assert isinstance((half + half).sample(2), dict)


@some
@given(cells=tables("xwo", max_rows=5), eighth=st.integers(-160, 160), w=st.sampled_from(NOMINAL))
def test_the_rows_that_carry_a_density_carry_all_of_it(cells, eighth, w):
    assume(known(cells))
    model = density(cells, weighted=True)
    x = {"x": [eighth / 8], "w": objects([w]), "o": objects(["middle"])}
    shares = model.density_.by_class[0].contributions(np.array([eighth / 8, NOMINAL.index(w), 1.0]))
    assert_allclose(shares.sum(), 1.0, rtol=1e-12)
    total = model.score_samples(x)[0]
    complete = all(known(cells.take([i])) for i in range(len(cells)))
    if complete:  # each row's own share: its weight times its own density
        alone = np.array([density(cells.take([i])).score_samples(x)[0] for i in range(len(cells))])
        assert_allclose(shares, np.exp(np.log(cells.weights / cells.weights.sum()) + alone - total), rtol=1e-9)
    account = model.explain(x)
    assert account.value == total
    table = account.sections[0].table
    assert table["training row"] == ([*range(len(cells)), "sum"] if shares.any() else [])


@few
@given(cells=tables("xzwo", min_rows=3))
def test_the_working_of_the_classifiers_is_their_answer(cells):
    assume(known(cells))
    for model in (ParzenClassifier({"x": 1.0, "z": 1.0}, types=TYPES), PrototypeClassifier(types=TYPES)):
        model.fit(cells.frame, cells.y, sample_weight=cells.weights)
        joint, posterior = model.predict_joint_log_proba(cells.frame), model.predict_proba(cells.frame)
        for i in range(len(cells)):
            working = model.explain(cells.frame, row=i)
            assert_allclose(working.log_joint, joint[i], rtol=1e-9, atol=1e-9)
            assert_allclose(working.posterior, posterior[i], rtol=0, atol=1e-9)
            assert working.answer == model.predict(cells.frame)[i]
            assert "nan" not in working.text()


@pytest.mark.parametrize("d", [1, 3])
def test_threads_do_not_change_a_bit(d, monkeypatch):
    rng = np.random.default_rng(d)
    X, asked = rng.normal(size=(3000, d)), rng.normal(size=(70_000 if d == 1 else 9_000, d))
    found = []
    for threads in ("1", "2"):
        monkeypatch.setenv("COUNTWISE_THREADS", threads)
        model = ParzenDensity("leave_one_out" if d == 1 else "silverman").fit(X)
        curve = model.bandwidth_curve([0.5, 1.0])
        found.append((model.bandwidths_, model.score_samples(asked).tobytes(), curve["train"], curve["held_out"]))
    assert found[0] == found[1]


# -- the tally ---------------------------------------------------------------------------------------------------


def tally(cells: Cells, given_: Nominal | None = None, w: Nominal | None = None) -> Rows:
    given_, w = given_ or Nominal("y", CLASSES), w or Nominal("w", NOMINAL)
    of, names = Vector("cells", (Numeric("x"), w)), w.encode(cells.frame["w"]).astype(float)
    column = np.column_stack([cells.frame["x"], np.where(names < len(w.values), names, np.nan)])
    table = Table({"cells": column, "y": given_.encode(cells.y)}, len(cells), cells.weights)
    return Rows(given_, of).fill(table)


def joined(a: Cells, b: Cells) -> Cells:
    frame = {k: np.concatenate([a.frame[k], b.frame[k]]) for k in a.frame}
    return Cells(frame, np.concatenate([a.y, b.y]), np.concatenate([a.weights, b.weights]))


@many
@given(a=tables("xw"), b=tables("xw"), c=tables("xw"))
def test_rows_are_a_monoid_with_subtraction(a, b, c):
    blank, (p, q, r) = Rows(Nominal("y", CLASSES), tally(a).of), map(tally, (a, b, c))
    assert ((p + q) + r).to_dict() == (p + (q + r)).to_dict()
    assert (p + blank).to_dict() == (blank + p).to_dict() == (p - blank).to_dict() == p.to_dict()
    assert (p + q).to_dict() == tally(joined(a, b)).to_dict()
    assert (p + q - q).to_dict() == p.to_dict()
    assert (p - p).filled[0].shape == (0, 2)
    with pytest.raises(CountwiseError, match="the model was not trained on"):
        p - (p + p)
    back = Rows.from_dict(p.to_dict(), {"y": p.given, "cells": p.of})
    assert back.to_dict() == p.to_dict()


@some
@given(a=tables("xw"), b=tables("xw"))
def test_rows_over_domains_that_grow_add_to_those_of_the_whole(a, b):
    given_ = [Nominal("y", grows=True).learn(part.y) for part in (a, b)]
    w = [Nominal("w", grows=True).learn(part.frame["w"]) for part in (a, b)]
    sum_ = tally(a, given_[0], w[0]) + tally(b, given_[1], w[1])
    whole = tally(joined(a, b), given_[0].join(given_[1]), w[0].join(w[1]))
    assert (sum_.given, sum_.of) == (whole.given, whole.of)
    assert sum_.to_dict() == whole.to_dict()
