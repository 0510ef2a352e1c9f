"""The laws of trees: what must not matter does not, weights are copies, and shares add up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from countwise import Ordinal, TreeClassifier, TreeRegressor, _kernels
from countwise._kernels import reference

from .strategies import examples, few

NAN = float("nan")
NAMES = ("u", "v", "w", "ü")
ORDER = ("low", "middle", "high", "top")
CLASSES = ("maybe", "no", "so", "yes")
NUMBERS = ("x", "z", "count")
TYPES = {"grade": Ordinal("grade", ORDER), "count": "count"}
KINDS = ("wind", "grade", "x", "count", "z")

CRITERIA = ("gain", "gain_ratio", "gini", "sd", "variance")
MISSING = ("fractions", "branch", "majority")
NOMINAL = ("multiway", "one_vs_rest", "subset")
HOW = [{}, {"thresholds": "binned", "max_bins": 3}]
several = examples(10)
every_criterion = pytest.mark.parametrize("criterion", CRITERIA)


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """Small tables: a pool of threads for each would take longer than the laws themselves."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COUNTWISE_THREADS", "1")
        yield


@dataclass(frozen=True)
class Rows:
    """Columns, what is to be told, and weights."""

    frame: dict[str, np.ndarray]
    y: np.ndarray
    weights: np.ndarray

    def __len__(self) -> int:
        return len(self.y)

    def take(self, which: Any) -> Rows:
        return Rows({k: v[which] for k, v in self.frame.items()}, self.y[which], self.weights[which])


def objects(values: Any) -> np.ndarray:
    array = np.empty(len(values), dtype=object)
    array[:] = list(values)
    return array


@st.composite
def rows_of(
    draw: Any,
    criterion: str,
    *,
    gaps: bool = True,
    min_rows: int = 4,
    max_rows: int = 20,
    fractions: bool = False,
    least: int = 1,
) -> Rows:
    """A table of every kind of column: names, an order, numbers with ties, counts, numbers with few ties.

    Tables are drawn as bytes, which hypothesis does a hundred times faster than cells.
    """
    n = draw(st.integers(min_rows, max_rows))
    k = draw(st.integers(2, 4))
    raw = np.frombuffer(draw(st.binary(min_size=12 * n, max_size=12 * n)), dtype=np.uint8).reshape(n, 12).astype(int)
    gone = raw[:, :5] % 6 == 5 if gaps else np.zeros((n, 5), dtype=bool)
    frame = {
        "wind": objects([None if g else NAMES[v % 4] for g, v in zip(gone[:, 0], raw[:, 5], strict=True)]),
        "grade": objects([None if g else ORDER[v % 4] for g, v in zip(gone[:, 1], raw[:, 6], strict=True)]),
        "x": np.where(gone[:, 2], NAN, raw[:, 7] % 6 / 8),
        "count": np.where(gone[:, 3], NAN, raw[:, 8] % 4),
        "z": np.where(gone[:, 4], NAN, (raw[:, 9] - 128) / 16),
    }
    y = (raw[:, 10] % 16) / 8 if criterion in ("sd", "variance") else objects([CLASSES[b % k] for b in raw[:, 10]])
    weights = (1 + raw[:, 11] % 29) / 10 if fractions else least + raw[:, 11] % 3
    return Rows(frame, y, weights)


def fitted(rows: Rows, criterion: str, *, weighted: bool = False, **settings: Any) -> Any:
    kind = TreeRegressor if criterion in ("sd", "variance") else TreeClassifier
    types = {name: kind_ for name, kind_ in TYPES.items() if name in rows.frame}
    model = kind(criterion, **{"types": types, **settings})
    return model.fit(rows.frame, rows.y, sample_weight=rows.weights if weighted else None)


def answers(model: Any, frame: dict[str, np.ndarray]) -> np.ndarray:
    return model.predict_proba(frame) if hasattr(model, "predict_proba") else model.predict(frame)


def assert_same_answers(ours: Any, theirs: Any, frame: Any, of_theirs: Any = None) -> None:
    if hasattr(theirs, "classes_"):
        assert ours.classes_.tolist() == theirs.classes_.tolist()
    wanted = answers(theirs, frame if of_theirs is None else of_theirs)
    np.testing.assert_allclose(answers(ours, frame), wanted, rtol=0, atol=1e-12)


def assert_same_tree(ours: Any, theirs: Any) -> None:
    """Node by node: the same questions, the same cuts, the same rows."""
    for name in ("attribute", "parent", "children", "missing", "limits", "limit_starts", "groups", "group_starts"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name), err_msg=name)
    np.testing.assert_allclose(ours.cells, theirs.cells, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(ours.searched, theirs.searched)
    # deviations keep half of the digits of squares
    np.testing.assert_allclose(ours.search_results[:2], theirs.search_results[:2], rtol=0, atol=1e-7)


def unique_attributes(model: Any) -> bool:
    """Whether no other attribute scored what the one scored that each node asks."""
    tree = model.tree_
    inner = np.flatnonzero(tree.attribute >= 0).tolist()
    scores = np.array([tree.candidates(k).scores for k in inner]).reshape(len(inner), tree.search_results.shape[2])
    chosen = np.take_along_axis(scores, tree.attribute[inner][:, None].astype(np.int64), axis=1)
    return bool(((np.abs(scores - chosen) <= 1e-6).sum(axis=1) == 1).all())


# -- what does not matter -----------------------------------------------------------------------------------------


@every_criterion
@several
@given(data=st.data())
def test_a_strictly_monotone_change_of_numbers_changes_no_answer_to_the_rows_learned(criterion, data):
    """But for counts, which would no longer be such."""
    missing = data.draw(st.sampled_from(MISSING))
    how = data.draw(st.sampled_from(HOW))
    rows = data.draw(rows_of(criterion))
    change = data.draw(st.sampled_from([np.exp, np.cbrt, lambda x: x**3, lambda x: 1e6 * x - 7, np.arctan]))
    changed = Rows({**rows.frame, "x": change(rows.frame["x"]), "z": change(rows.frame["z"])}, rows.y, rows.weights)
    one = fitted(rows, criterion, missing=missing, **how)
    other = fitted(changed, criterion, missing=missing, **how)
    np.testing.assert_array_equal(one.tree_.attribute, other.tree_.attribute)
    np.testing.assert_allclose(one.tree_.search_results[0], other.tree_.search_results[0], rtol=0, atol=1e-12)
    assert_same_answers(other, one, changed.frame, rows.frame)


@pytest.mark.parametrize("ranges", ["mdl", "class_contiguous"])
@several
@given(data=st.data())
def test_a_strictly_monotone_change_of_numbers_does_not_change_ranges(ranges, data):
    rows = data.draw(rows_of("gain", min_rows=12, max_rows=30))
    changed = Rows({**rows.frame, "x": np.exp(rows.frame["x"]), "z": np.exp(rows.frame["z"])}, rows.y, rows.weights)
    one, other = (fitted(r, "gain", numeric="ranges", ranges=ranges) for r in (rows, changed))
    np.testing.assert_array_equal(one.tree_.attribute, other.tree_.attribute)
    assert_same_answers(other, one, changed.frame, rows.frame)


@every_criterion
@several
@given(data=st.data())
def test_the_order_of_the_rows_changes_nothing(criterion, data):
    missing = data.draw(st.sampled_from(MISSING))
    nominal = data.draw(st.sampled_from(NOMINAL))
    rows = data.draw(rows_of(criterion, fractions=True))
    order = np.array(data.draw(st.permutations(range(len(rows)))))
    settings = {"missing": missing, "nominal": nominal, "weighted": True, "min_samples_leaf": 0.1}
    one, other = fitted(rows, criterion, **settings), fitted(rows.take(order), criterion, **settings)
    assert_same_tree(one.tree_, other.tree_)
    assert_same_answers(one, other, rows.frame)


@every_criterion
@pytest.mark.parametrize("missing", ["fractions", "branch"])
@few
@given(data=st.data())
def test_other_names_of_values_change_nothing(criterion, missing, data):
    """Where each value has a branch. (Of equally heavy branches the majority is the first by name.)"""
    rows = data.draw(rows_of(criterion))
    names = data.draw(st.permutations(["a", "b", "c", "ä"]))
    new = {None: None, **dict(zip(NAMES, names, strict=True))}
    other = Rows({**rows.frame, "wind": objects([new[v] for v in rows.frame["wind"]])}, rows.y, rows.weights)
    one, two = fitted(rows, criterion, missing=missing), fitted(other, criterion, missing=missing)
    np.testing.assert_allclose(two.tree_.candidates(0).gains, one.tree_.candidates(0).gains, rtol=0, atol=1e-12)
    assert sorted(two.tree_.attribute) == sorted(one.tree_.attribute)
    assert_same_answers(two, one, other.frame, rows.frame)


@pytest.mark.parametrize("nominal", ["one_vs_rest", "subset"])
@every_criterion
@few
@given(data=st.data())
def test_other_names_of_values_do_not_change_what_the_best_groups_gain(criterion, nominal, data):
    """At the root; further down the rows may be others, where several groups gain as much."""
    rows = data.draw(rows_of(criterion))
    names = data.draw(st.permutations(["a", "b", "c", "ä"]))
    new = {None: None, **dict(zip(NAMES, names, strict=True))}
    other = Rows({**rows.frame, "wind": objects([new[v] for v in rows.frame["wind"]])}, rows.y, rows.weights)
    one, two = (fitted(r, criterion, nominal=nominal, missing="branch", max_depth=1) for r in (rows, other))
    np.testing.assert_allclose(
        two.tree_.candidates(0).gains,
        one.tree_.candidates(0).gains,
        rtol=0,
        atol=1e-7 if criterion == "sd" else 1e-12,
    )
    assert two.tree_.attribute[0] == one.tree_.attribute[0]


@every_criterion
@several
@given(data=st.data())
def test_the_order_of_the_columns_changes_nothing_where_one_attribute_is_best(criterion, data):
    missing = data.draw(st.sampled_from(MISSING))
    nominal = data.draw(st.sampled_from(NOMINAL))
    rows = data.draw(rows_of(criterion, min_rows=20, max_rows=32))
    order = data.draw(st.permutations(KINDS))
    other = Rows({name: rows.frame[name] for name in order}, rows.y, rows.weights)
    settings = {"missing": missing, "nominal": nominal, "max_depth": 2, "min_samples_split": 5}
    one, two = fitted(rows, criterion, **settings), fitted(other, criterion, **settings)
    place = [list(order).index(name) for name in KINDS]
    np.testing.assert_allclose(
        two.tree_.candidates(0).gains[place], one.tree_.candidates(0).gains, rtol=0, atol=1e-12
    )
    assume(unique_attributes(one))
    assert_same_answers(two, one, rows.frame)
    np.testing.assert_allclose(two.feature_importances_[place], one.feature_importances_, rtol=0, atol=1e-12)


@every_criterion
@several
@given(data=st.data())
def test_a_constant_column_changes_nothing(criterion, data):
    missing = data.draw(st.sampled_from(MISSING))
    rows = data.draw(rows_of(criterion))
    n, place = len(rows), data.draw(st.integers(0, 5))
    constant = data.draw(st.sampled_from([np.full(n, 2.5), objects(["same"] * n), np.full(n, NAN)]))
    columns = list(rows.frame.items())
    frame = dict([*columns[:place], ("constant", constant), *columns[place:]])
    one, two = (
        fitted(rows, criterion, missing=missing),
        fitted(Rows(frame, rows.y, rows.weights), criterion, missing=missing),
    )
    assert_same_answers(two, one, frame, rows.frame)
    np.testing.assert_array_equal(np.delete(two.feature_importances_, place), one.feature_importances_)
    assert two.feature_importances_[place] == 0


# -- weights --------------------------------------------------------------------------------------------------------


@every_criterion
@several
@given(data=st.data())
def test_weights_are_copies_and_a_weight_of_0_is_no_row(criterion, data):
    missing = data.draw(st.sampled_from(MISSING))
    nominal = data.draw(st.sampled_from(NOMINAL))
    how = data.draw(st.sampled_from(HOW))
    rows = data.draw(rows_of(criterion, least=0))
    copies = rows.take(np.repeat(np.arange(len(rows)), rows.weights))
    assume(len(copies))
    settings = {"missing": missing, "nominal": nominal, **how}
    one, two = fitted(rows, criterion, weighted=True, **settings), fitted(copies, criterion, **settings)
    assert_same_tree(one.tree_, two.tree_)
    np.testing.assert_array_equal(one.tree_.search_results[2], two.tree_.search_results[2])
    assert_same_answers(one, two, rows.frame)


@pytest.mark.parametrize("ranges", ["mdl", "class_contiguous"])
@pytest.mark.parametrize("criterion", ["gain", "gain_ratio", "gini"])
@several
@given(data=st.data())
def test_weights_are_copies_where_numbers_are_cut_into_ranges(ranges, criterion, data):
    missing = data.draw(st.sampled_from(MISSING))
    rows = data.draw(rows_of(criterion, least=0))
    copies = rows.take(np.repeat(np.arange(len(rows)), rows.weights))
    assume(len(copies))
    settings = {"missing": missing, "numeric": "ranges", "ranges": ranges}
    one, two = fitted(rows, criterion, weighted=True, **settings), fitted(copies, criterion, **settings)
    assert_same_tree(one.tree_, two.tree_)
    assert_same_answers(one, two, rows.frame)


@pytest.mark.parametrize(
    ("criterion", "nominal"),
    [(c, n) for c in CRITERIA for n in NOMINAL if (c, n) != ("gain_ratio", "multiway")],
)
@several
@given(data=st.data())
def test_weights_have_no_unit(criterion, nominal, data):
    """Of whole rows or of thirds. (Whether an attribute has many values depends on how many rows there are.)"""
    missing = data.draw(st.sampled_from(MISSING))
    rows = data.draw(rows_of(criterion))
    thirds = Rows(rows.frame, rows.y, rows.weights / 3)
    settings = {"missing": missing, "nominal": nominal, "weighted": True, "min_samples_split": 6}
    one = fitted(rows, criterion, **settings, min_samples_leaf=2)
    two = fitted(thirds, criterion, **{**settings, "min_samples_split": 2}, min_samples_leaf=2 / 3)
    np.testing.assert_array_equal(one.tree_.attribute, two.tree_.attribute)
    np.testing.assert_array_equal(one.tree_.limits, two.tree_.limits)
    np.testing.assert_array_equal(one.tree_.groups, two.tree_.groups)
    assert_same_answers(one, two, rows.frame)


# -- what adds up -----------------------------------------------------------------------------------------------


@every_criterion
@several
@given(data=st.data())
def test_probabilities_and_the_shares_of_a_row_over_leaves_add_up_to_1(criterion, data):
    missing = data.draw(st.sampled_from(MISSING))
    nominal = data.draw(st.sampled_from(NOMINAL))
    rows, asked = data.draw(rows_of(criterion, fractions=True)), data.draw(rows_of(criterion))
    asked.frame["wind"][0] = "never met"
    model = fitted(rows, criterion, missing=missing, nominal=nominal, weighted=True, min_samples_leaf=0.1)
    landing = model._landing(model._table(model._open(asked.frame), 0, len(asked)))
    assert (model.tree_.attribute[landing.leaves] == -1).all()
    if landing.rows is not None:
        np.testing.assert_allclose(np.bincount(landing.rows, landing.fractions), np.ones(len(asked)), rtol=1e-12)
        assert (landing.fractions > 0).all()
    if criterion in ("gain", "gain_ratio", "gini"):
        p = model.predict_proba(asked.frame)
        np.testing.assert_allclose(p.sum(axis=1), np.ones(len(asked)), rtol=1e-12)
        assert (p >= 0).all()
    else:
        lifted = fitted(
            Rows(rows.frame, rows.y + 64, rows.weights),
            criterion,
            missing=missing,
            nominal=nominal,
            weighted=True,
            min_samples_leaf=0.1,
        )
        np.testing.assert_allclose(lifted.predict(asked.frame), model.predict(asked.frame) + 64, rtol=0, atol=1e-10)


@every_criterion
@several
@given(data=st.data())
def test_children_hold_what_their_parent_holds(criterion, data):
    missing = data.draw(st.sampled_from(MISSING))
    nominal = data.draw(st.sampled_from(NOMINAL))
    rows = data.draw(rows_of(criterion, fractions=True))
    tree = fitted(rows, criterion, missing=missing, nominal=nominal, weighted=True, min_samples_leaf=0.1).tree_
    cells = tree.cells
    if criterion in ("sd", "variance"):  # the weight, and the sum
        cells = np.stack([cells[:, 0], cells[:, 0] * cells[:, 1]], axis=1)
        np.testing.assert_allclose(cells[0], [rows.weights.sum(), rows.weights @ rows.y], rtol=1e-12)
        assert (cells[:, 0] >= 0).all()
    else:
        np.testing.assert_allclose(cells[0].sum(), rows.weights.sum(), rtol=1e-12)
        assert (cells >= 0).all()
    below = np.zeros_like(cells)
    np.add.at(below, tree.parent[1:], cells[1:])
    inner = tree.attribute >= 0
    np.testing.assert_allclose(below[inner], cells[inner], rtol=1e-11, atol=1e-12)


def spread_in(cells: np.ndarray, numbers: bool) -> float:
    """Entropy in bits, or variance."""
    if numbers:
        return cells[2] / cells[0] if cells[0] > 0 else 0.0
    p = cells[cells > 0] / cells.sum() if cells.sum() > 0 else np.ones(1)
    return float(-(p * np.log2(p)).sum())


@every_criterion
@several
@given(data=st.data())
def test_importances_add_up_to_what_the_tree_tells(criterion, data):
    missing = data.draw(st.sampled_from(MISSING))
    nominal = data.draw(st.sampled_from(NOMINAL))
    rows = data.draw(rows_of(criterion, fractions=True))
    model = fitted(rows, criterion, missing=missing, nominal=nominal, weighted=True, min_samples_leaf=0.1)
    tree, numbers = model.tree_, criterion in ("sd", "variance")
    n = tree.cells[:, 0] if numbers else tree.cells.sum(axis=1)
    left = sum(n[k] / n[0] * spread_in(tree.cells[k], numbers) for k in tree.leaves)
    assert model.feature_importances_.sum() == pytest.approx(spread_in(tree.cells[0], numbers) - left, abs=1e-12)
    assert (model.feature_importances_ >= 0).all()


NOTHING = {
    "wind": objects([None]),
    "grade": objects([None]),
    "x": np.array([NAN]),
    "count": np.array([NAN]),
    "z": np.array([NAN]),
}


@every_criterion
@several
@given(data=st.data())
def test_a_row_that_lacks_everything_gets_the_blend_of_all_leaves(criterion, data):
    """Which is what all rows are: leaves are weighed by the rows in them."""
    nominal = data.draw(st.sampled_from(NOMINAL))
    rows = data.draw(rows_of(criterion, fractions=True))
    model = fitted(rows, criterion, nominal=nominal, weighted=True, min_samples_leaf=0.1)
    answer = answers(model, NOTHING)[0]
    if criterion in ("sd", "variance"):
        wanted = np.average(rows.y, weights=rows.weights)
    else:
        wanted = np.array([rows.weights[rows.y == c].sum() for c in model.classes_]) / rows.weights.sum()
    np.testing.assert_allclose(answer, wanted, rtol=0, atol=1e-12)


@every_criterion
@few
@given(data=st.data())
def test_a_row_that_lacks_everything_goes_the_way_of_most_rows(criterion, data):
    rows = data.draw(rows_of(criterion))
    model = fitted(rows, criterion, missing="majority")
    tree, k = model.tree_, 0
    n = tree.cells[:, 0] if criterion in ("sd", "variance") else tree.cells.sum(axis=1)
    while tree.attribute[k] >= 0:
        below = np.flatnonzero(tree.parent == k)
        k = int(below[np.argmax(n[below])])
    wanted = tree.cells[k, 1] if criterion in ("sd", "variance") else tree.cells[k] / n[k]
    np.testing.assert_allclose(answers(model, NOTHING)[0], wanted, rtol=0, atol=1e-12)


# -- ways to compute --------------------------------------------------------------------------------------------


@every_criterion
@several
@given(data=st.data())
def test_enough_bins_are_as_good_as_every_threshold(criterion, data):
    nominal = data.draw(st.sampled_from(NOMINAL))
    rows = data.draw(rows_of(criterion, gaps=False))
    one = fitted(rows, criterion, nominal=nominal)
    two = fitted(rows, criterion, nominal=nominal, thresholds="binned")
    np.testing.assert_array_equal(one.tree_.attribute, two.tree_.attribute)
    np.testing.assert_allclose(one.tree_.cells, two.tree_.cells, rtol=1e-12, atol=1e-12)
    assert_same_answers(one, two, rows.frame)


KERNELS = [name for name, kernel in vars(reference).items() if callable(kernel)]


@pytest.mark.skipif(_kernels.LEVEL == "reference", reason="there is nothing to compare")
@every_criterion
@several
@given(data=st.data())
def test_the_reference_kernels_grow_the_same_trees(criterion, data):
    missing = data.draw(st.sampled_from(MISSING))
    nominal = data.draw(st.sampled_from(NOMINAL))
    rows = data.draw(rows_of(criterion, fractions=data.draw(st.booleans())))
    asked = data.draw(rows_of(criterion))
    how = data.draw(st.sampled_from(HOW if criterion in ("sd", "variance") else [*HOW, {"numeric": "ranges"}]))
    settings = {"missing": missing, "nominal": nominal, "weighted": True, "min_samples_leaf": 0.1, **how}
    one = fitted(rows, criterion, **settings)
    of_one = answers(one, asked.frame)
    with pytest.MonkeyPatch.context() as patch:
        for name in KERNELS:
            patch.setattr(_kernels, name, getattr(reference, name))
        two = fitted(rows, criterion, **settings)
        of_two = answers(two, asked.frame)
    assert_same_tree(one.tree_, two.tree_)
    np.testing.assert_allclose(of_one, of_two, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("criterion", "how"),
    [
        ("gain_ratio", {}),
        ("gini", {"thresholds": "binned", "max_bins": 50}),
        ("gain", {"numeric": "ranges"}),
        ("sd", {}),
        ("variance", {"thresholds": "binned", "max_bins": 50, "missing": "branch"}),
    ],
)
def test_any_number_of_threads_grows_the_same_tree(criterion, how, monkeypatch):
    """Of so many rows that threads are used at all."""
    n, rng = 9000, np.random.default_rng(0)
    gone = rng.random((5, n)) < 0.05
    frame = {
        "wind": objects(np.where(gone[0], None, rng.choice(NAMES, n))),
        "grade": objects(np.where(gone[1], None, rng.choice(ORDER, n))),
        "x": np.where(gone[2], NAN, rng.normal(size=n).round(1)),
        "count": np.where(gone[3], NAN, rng.poisson(2, n)),
        "z": np.where(gone[4], NAN, rng.normal(size=n)),
    }
    told = np.nan_to_num(frame["z"]) + np.nan_to_num(frame["count"]) + rng.normal(size=n)
    y = told if criterion in ("sd", "variance") else objects(np.array(CLASSES)[np.digitize(told, [0, 2, 4])])
    rows = Rows(frame, y, rng.integers(1, 9, n) / 10)
    found = []
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("COUNTWISE_THREADS", threads)
        model = fitted(rows, criterion, weighted=True, max_depth=5, min_samples_leaf=20, **how)
        found.append((model.tree_.to_dict(), answers(model, frame).tolist()))
    assert len(found[0][0]["attribute"]) > 20
    assert found[0] == found[1] == found[2]
