"""The laws of naive Bayes: pieces are the whole, weights are copies, and the working is the answer."""

from __future__ import annotations

import itertools
import math
import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

import countwise
from countwise import Binned, Gaussian, Kernel, MEstimate, Multinomial, NaiveBayesClassifier, Nominal
from countwise.distributions.binned import BinnedDensity

from .strategies import (
    BY_COLUMN,
    CLASSES,
    COUNTED,
    DISTRIBUTIONS,
    EXPLAINED,
    NOMINAL,
    WORDS,
    Law,
    Rows,
    assert_logs_agree,
    assert_posteriors_agree,
    assert_same_answers,
    assert_same_tallies,
    column,
    few,
    joint_of,
    no_near_tie,
    posterior_of,
    rows_of,
    some,
    splits,
    twice,
    zeros_allowed,
)


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """Small tables: a pool of threads for each would take longer than the laws themselves."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COUNTWISE_THREADS", "1")
        yield


every_law = pytest.mark.parametrize("law", list(DISTRIBUTIONS))


def objects(values: Any) -> np.ndarray:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


# -- learning in pieces -------------------------------------------------------------------------------------


@every_law
@few
@given(data=st.data())
def test_learning_in_any_split_is_learning_at_once(law, data):
    """Values, words and classes may come in any piece; the first need not have them all."""
    rows = data.draw(rows_of(DISTRIBUTIONS[law]))
    weighted = data.draw(st.booleans())
    whole = rows.fit(DISTRIBUTIONS[law].model(), weighted=weighted)
    model = DISTRIBUTIONS[law].model()
    for piece in data.draw(splits(len(rows))):
        part = rows.take(piece)
        model.partial_fit(part.frame, part.y, sample_weight=part.weights if weighted else None)
    assert model.schema_ == whole.schema_
    assert model.n_rows_ == whole.n_rows_
    assert_same_tallies(model.tallies_, whole.tallies_)
    assert_same_answers(model, whole, rows.frame)


@every_law
@few
@given(data=st.data())
def test_a_table_in_pieces_is_the_table_in_memory(law, data):
    rows = data.draw(rows_of(DISTRIBUTIONS[law]))
    whole = rows.fit(DISTRIBUTIONS[law].model())
    pieces = ({**part.frame, "y": part.y} for part in map(rows.take, data.draw(splits(len(rows)))))
    model = DISTRIBUTIONS[law].model().fit(pieces, "y")
    assert_same_tallies(model.tallies_, whole_named(whole, model))
    assert_same_answers(model, whole, rows.frame)


def whole_named(whole: NaiveBayesClassifier, model: NaiveBayesClassifier) -> dict[str, Any]:
    """The tallies of a model whose target has another name: only the name may differ."""
    assert model.target_.values == whole.target_.values
    names = {whole.target_.name: model.target_.name}
    return {names.get(k, k): renamed(t, model.target_) for k, t in whole.tallies_.items()}


def renamed(tally: Any, target: Nominal) -> Any:
    import dataclasses

    if hasattr(tally, "axes"):
        return dataclasses.replace(tally, axes=(target, *tally.axes[1:]))
    return dataclasses.replace(tally, given=target)


@every_law
@few
@given(data=st.data())
def test_merging_two_models_is_learning_from_both_tables(law, data):
    rows = data.draw(rows_of(DISTRIBUTIONS[law]))
    cut = data.draw(st.integers(1, len(rows) - 1))
    a, b = rows.take(np.arange(cut)), rows.take(np.arange(cut, len(rows)))
    whole = rows.fit(DISTRIBUTIONS[law].model())
    first, second = a.fit(DISTRIBUTIONS[law].model()), b.fit(DISTRIBUTIONS[law].model())
    before = joint_of(first, rows.frame)
    merged = first + second
    assert merged.schema_ == whole.schema_
    assert merged.n_rows_ == len(rows)
    assert_same_tallies(merged.tallies_, whole.tallies_)
    assert_same_answers(merged, whole, rows.frame)
    assert_same_answers(second + first, whole, rows.frame)
    np.testing.assert_array_equal(joint_of(first, rows.frame), before)  # the parts stay as they are


def base_rows(law: Law) -> Rows:
    """Rows with every class, value and word, and spread in each class.

    Moments taken back keep rounding of the size of the whole's, so a deviation far below that would not be known;
    domains that shrink have a test of their own.
    """
    frame = {}
    for name, (kind, _) in law.columns.items():
        some_of = {"nominal": list(NOMINAL), "text": list(WORDS)}.get(kind, [0.0, 3.0, 1.0, 6.0, 2.0])
        frame[name] = column(kind, [some_of[i % len(some_of)] for i in range(9)])
    return Rows(frame, objects(list(CLASSES) * 3), np.ones(9, dtype=int))


def joined(a: Rows, b: Rows) -> Rows:
    frame = {name: np.concatenate([a.frame[name], b.frame[name]]) for name in a.frame}
    return Rows(frame, np.concatenate([a.y, b.y]), np.concatenate([a.weights, b.weights]))


@every_law
@few
@given(data=st.data())
def test_forgetting_rows_is_never_having_seen_them(law, data):
    kept = joined(base_rows(DISTRIBUTIONS[law]), data.draw(rows_of(DISTRIBUTIONS[law])))
    gone = data.draw(rows_of(DISTRIBUTIONS[law]))
    only = kept.fit(DISTRIBUTIONS[law].model(), weighted=True)
    model = joined(kept, gone).fit(DISTRIBUTIONS[law].model(), weighted=True)
    model.forget(gone.frame, gone.y, sample_weight=gone.weights)
    assert model.n_rows_ == only.n_rows_
    assert_same_answers(model, only, kept.frame, 1e-8)


@pytest.mark.parametrize("law", ["categorical", "poisson", "gaussian", "multinomial of text", "ranges, each value"])
def test_values_and_classes_that_only_forgotten_rows_had_are_gone(law):
    kind = DISTRIBUTIONS[law].columns["a"][0]
    kept = {"nominal": ["u", "v", "u", "v"], "text": ["us", "send", "us us", "send"]}.get(kind, [1.0, 2.0, 4.0, 3.0])
    gone = {"nominal": ["w", "u"], "text": ["password", "us"]}.get(kind, [9.0, 2.0])
    A, B = ({"a": column(kind, part), "b": column(kind, part)} for part in (kept, gone))
    yA, yB = objects(["no", "no", "yes", "yes"]), objects(["maybe", "no"])
    both = {name: np.concatenate([A[name], B[name]]) for name in A}
    model = DISTRIBUTIONS[law].model().fit(both, np.concatenate([yA, yB])).forget(B, yB)
    only = DISTRIBUTIONS[law].model().fit(A, yA)
    assert_same_answers(model, only, A, 1e-8)


def test_counts_that_are_zero_again_after_forgetting_are_zero_and_not_nearly_so():
    """Means taken back are rounded; a rate a hair below 0 must not be called a negative mean."""
    for others in itertools.product(range(1, 6), repeat=3):
        A, B = np.zeros(3), np.array(others, dtype=float)
        model = NaiveBayesClassifier("poisson").fit({"n": np.concatenate([A, B])}, ["a"] * 6)
        model.forget({"n": B}, ["a"] * 3)
        only = NaiveBayesClassifier("poisson").fit({"n": A}, ["a"] * 3)
        assert_same_answers(model, only, {"n": np.array([0.0])})


@pytest.mark.filterwarnings("ignore:The remaining values of")  # warned of or not, dust must not decide the answer
def test_a_column_that_is_constant_again_after_forgetting_has_no_say():
    A, B = np.array([0.1, 0.1, 0.1, 0.1]), np.array([0.7, 0.3])
    y = ["a", "a", "b", "b", "a", "b"]
    model = NaiveBayesClassifier().fit({"x": np.concatenate([A, B])}, y).forget({"x": B}, ["a", "b"])
    only = NaiveBayesClassifier().fit({"x": A}, y[:4])
    np.testing.assert_allclose(model.predict_proba({"x": [0.2]}), only.predict_proba({"x": [0.2]}), rtol=1e-9)


@pytest.mark.parametrize(
    "law", ["categorical", "multinomial of text", "bernoulli of text", "ranges, each value", "kernel, silverman"]
)
@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_forgetting_rows_with_broken_weights_leaves_no_dust(law, order):
    """0.1 + 0.2 + 0.3 taken back one by one in another order leaves rounding, which is no row."""
    kind = DISTRIBUTIONS[law].columns["a"][0]
    kept = {"nominal": ["u", "v", "u", "v"], "text": ["us", "send", "us us", "send"]}.get(kind, [1.0, 2.0, 4.0, 3.0])
    cell = {"nominal": "w", "text": "password"}.get(kind, 9.0)
    y = objects(["no", "no", "yes", "yes"])
    A = {name: column(kind, kept) for name in "ab"}
    one = {name: column(kind, [cell]) for name in "ab"}
    domain = {"types": {name: Nominal(name, NOMINAL) for name in "ab"}} if kind == "nominal" else {}
    model, only = (
        DISTRIBUTIONS[law].model(smoothing=0, **domain).fit(A, y),
        DISTRIBUTIONS[law].model(smoothing=0, **domain).fit(A, y),
    )
    weights = (0.1, 0.2, 0.3)
    for w in weights:
        model.partial_fit(one, objects(["no"]), sample_weight=[w])
    for i in order:
        model.forget(one, objects(["no"]), sample_weight=[weights[i]])
    assert_same_answers(model, only, A, 1e-9)


@pytest.mark.parametrize("kind", ["nominal", "text", "boolean"])
def test_a_column_with_nothing_in_its_first_piece_becomes_what_the_next_says(kind):
    cells_ = {"nominal": ["u", "v"], "text": ["us", "send"], "boolean": [True, False]}[kind]
    laws = {"x": "multinomial"} if kind == "text" else None
    first, second = {"x": [None, None]}, {"x": cells_}
    whole = NaiveBayesClassifier(laws).fit({"x": [None, None, *cells_]}, ["a", "b", "a", "b"])
    model = NaiveBayesClassifier(laws).partial_fit(first, ["a", "b"]).partial_fit(second, ["a", "b"])
    assert_same_answers(model, whole, second)


def test_a_piece_without_any_target_is_left_out_as_its_rows_would_be():
    pieces = [{"x": [1.0, 2.0], "y": ["a", "b"]}, {"x": [3.0], "y": [None]}, {"x": [4.0, 6.0], "y": ["a", "b"]}]
    with pytest.warns(countwise.errors.CountwiseWarning, match="skipped"):
        model = NaiveBayesClassifier().fit(iter(pieces), "y")
    whole = NaiveBayesClassifier().fit({"x": [1.0, 2.0, 4.0, 6.0], "y": ["a", "b", "a", "b"]}, "y")
    assert model.n_left_out_ == 1
    assert_same_answers(model, whole, {"x": [1.5]})


def test_a_piece_whose_weights_are_all_zero_adds_nothing():
    pieces = [
        {"x": [1.0, 2.0, 4.0], "y": ["a", "b", "a"], "w": [1, 1, 1]},
        {"x": [3.0, 5.0], "y": ["b", "c"], "w": [0, 0]},
        {"x": [6.0], "y": ["b"], "w": [2]},
    ]
    model = NaiveBayesClassifier().fit(iter(pieces), "y", sample_weight="w")
    whole = NaiveBayesClassifier().fit(
        {"x": [1.0, 2.0, 4.0, 6.0], "y": ["a", "b", "a", "b"]}, "y", sample_weight=[1, 1, 1, 2]
    )
    assert_same_answers(model, whole, {"x": [1.5]})


def test_an_empty_piece_among_others_adds_nothing():
    pieces = [
        {"x": np.array([1.0, 2.0]), "y": objects(["a", "b"])},
        {"x": np.empty(0), "y": objects([])},
        {"x": np.array([4.0, 6.0]), "y": objects(["a", "b"])},
    ]
    model = NaiveBayesClassifier().fit(iter(pieces), "y")
    whole = NaiveBayesClassifier().fit({"x": [1.0, 2.0, 4.0, 6.0]}, ["a", "b", "a", "b"])
    assert_same_answers(model, whole, {"x": [1.5]})


def test_a_column_is_called_an_identifier_by_all_rows_and_not_by_one_piece():
    """120 values in 1200 rows are no identifier, however the rows come."""
    cells_ = objects([f"v{i % 120}" for i in range(1200)])
    y = objects(["a", "b"] * 600)
    model = NaiveBayesClassifier().fit({"x": cells_}, y)
    pieces = ({"x": cells_[i : i + 100], "y": y[i : i + 100]} for i in range(0, 1200, 100))
    assert_same_answers(NaiveBayesClassifier().fit(pieces, "y"), model, {"x": cells_[:5]})


@every_law
@few
@given(data=st.data())
def test_fitting_again_starts_afresh(law, data):
    a, b = data.draw(rows_of(DISTRIBUTIONS[law])), data.draw(rows_of(DISTRIBUTIONS[law]))
    again = b.fit(a.fit(DISTRIBUTIONS[law].model()))
    once = b.fit(DISTRIBUTIONS[law].model())
    np.testing.assert_array_equal(joint_of(again, b.frame), joint_of(once, b.frame))
    assert again.n_rows_ == once.n_rows_


# -- weights, order, names ----------------------------------------------------------------------------------


@every_law
@few
@given(data=st.data())
def test_a_weight_of_n_is_n_copies_of_the_row(law, data):
    rows = data.draw(rows_of(DISTRIBUTIONS[law]))
    weighted = rows.fit(DISTRIBUTIONS[law].model(), weighted=True)
    copies = rows.take(np.repeat(np.arange(len(rows)), rows.weights)).fit(DISTRIBUTIONS[law].model())
    assert_same_tallies(weighted.tallies_, copies.tallies_)
    assert_same_answers(weighted, copies, rows.frame)


@every_law
@few
@given(data=st.data())
def test_a_weight_of_0_is_a_row_that_is_not_there(law, data):
    """Its values, words and class do not join the domains either."""
    rows = data.draw(rows_of(DISTRIBUTIONS[law], min_weight=0))
    assume(rows.weights.any())
    weighted = rows.fit(DISTRIBUTIONS[law].model(), weighted=True)
    without = rows.take(rows.weights > 0)
    absent = without.fit(DISTRIBUTIONS[law].model(), weighted=True)
    assert weighted.schema_ == absent.schema_
    assert_same_tallies(weighted.tallies_, absent.tallies_)
    assert_same_answers(weighted, absent, rows.frame)


@pytest.mark.parametrize(
    "law", ["categorical", "gaussian over n", "poisson", "multinomial of text", "kernel, given", "ranges, each value"]
)
@few
@given(data=st.data(), factor=st.sampled_from([2.0, 0.5, 3.0]))
def test_weights_of_one_size_leave_maximum_likelihood_as_it_is(law, data, factor):
    """Without smoothing, n - 1 and rules for n, only the shares of the weights matter."""
    rows = data.draw(rows_of(DISTRIBUTIONS[law]))
    if law == "gaussian over n":  # a weight of 1 is a single row, which shows no spread; a weight of 2 is two rows
        known = [~np.isnan(column) & (rows.y == c) for column in rows.frame.values() for c in set(rows.y)]
        assume(not any(0 < rows.weights[one].sum() * min(factor, 1) <= 1 for one in known))
    plain = rows.fit(DISTRIBUTIONS[law].model(smoothing=0), weighted=True)
    scaled = DISTRIBUTIONS[law].model(smoothing=0).fit(rows.frame, rows.y, sample_weight=rows.weights * factor)
    assert_same_answers(scaled, plain, rows.frame)


@every_law
@few
@given(data=st.data())
def test_the_order_of_the_rows_changes_nothing(law, data):
    rows = data.draw(rows_of(DISTRIBUTIONS[law]))
    order = np.array(data.draw(st.permutations(range(len(rows)))))
    one, other = rows.fit(DISTRIBUTIONS[law].model()), rows.take(order).fit(DISTRIBUTIONS[law].model())
    assert_same_tallies(one.tallies_, other.tallies_)
    assert_same_answers(one, other, rows.frame)
    np.testing.assert_array_equal(joint_of(one, rows.take(order).frame), joint_of(one, rows.frame)[order])


@every_law
@few
@given(data=st.data())
def test_a_row_is_judged_by_itself_alone(law, data):
    rows = data.draw(rows_of(DISTRIBUTIONS[law]))
    model = rows.fit(DISTRIBUTIONS[law].model())
    whole = joint_of(model, rows.frame)
    for i in range(len(rows)):
        np.testing.assert_array_equal(joint_of(model, rows.take([i]).frame), whole[i : i + 1])


@every_law
@few
@given(data=st.data())
def test_the_order_of_the_columns_changes_nothing(law, data):
    rows = data.draw(rows_of(DISTRIBUTIONS[law]))
    order = data.draw(st.permutations(list(rows.frame)))
    turned = {name: rows.frame[name] for name in order}
    one, other = rows.fit(DISTRIBUTIONS[law].model()), DISTRIBUTIONS[law].model().fit(turned, rows.y)
    assert_same_answers(other, one, rows.frame)
    np.testing.assert_array_equal(joint_of(one, turned), joint_of(one, rows.frame))


@pytest.mark.parametrize("law", ["categorical", "categorical, m-estimate", "mixed"])
@some
@given(data=st.data())
def test_other_names_for_the_values_change_nothing(law, data):
    rows = data.draw(rows_of(DISTRIBUTIONS[law]))
    other = dict(zip(NOMINAL, data.draw(st.permutations(["north", "east", "", "süd"])), strict=True))
    changed = rows.with_frame(
        **{
            name: objects([other.get(cell) for cell in rows.frame[name]])
            for name, (kind, _) in DISTRIBUTIONS[law].columns.items()
            if kind == "nominal"
        }
    )
    one, two = rows.fit(DISTRIBUTIONS[law].model()), changed.fit(DISTRIBUTIONS[law].model())
    joint = joint_of(one, rows.frame)
    assert_logs_agree(joint_of(two, changed.frame), joint, 1e-12)
    assert_posteriors_agree(posterior_of(two, changed.frame), posterior_of(one, rows.frame), joint, 1e-12)


@every_law
@few
@given(data=st.data())
def test_other_names_for_the_classes_permute_the_answer_and_nothing_else(law, data):
    rows = data.draw(rows_of(DISTRIBUTIONS[law]))
    names = data.draw(st.permutations(["a", "b", "c"]))
    other = dict(zip(CLASSES, names, strict=True))
    one = rows.fit(DISTRIBUTIONS[law].model())
    assume(no_near_tie(one))
    two = DISTRIBUTIONS[law].model().fit(rows.frame, objects([other[c] for c in rows.y]))
    order = [two.classes_.tolist().index(other[c]) for c in one.classes_]
    joint = joint_of(one, rows.frame)
    assert_logs_agree(joint_of(two, rows.frame)[:, order], joint, 1e-9)
    assert_posteriors_agree(posterior_of(two, rows.frame)[:, order], posterior_of(one, rows.frame), joint)


@pytest.mark.parametrize("labels", [(0, 1, 2), (5, -3, 9), (True, False), ("b", "a", "ü"), (2.0, 1.0, 3.0)])
def test_classes_come_back_as_the_kind_they_were_given_in(labels):
    y = np.array([labels[i % len(labels)] for i in range(12)])
    model = NaiveBayesClassifier().fit({"x": np.arange(12.0)}, y)
    assert model.classes_.tolist() == sorted(labels)
    assert model.classes_.dtype == y.dtype
    assert model.predict({"x": [1.0]}).dtype == y.dtype


AFFINE = {
    "gaussian": "gaussian",
    "gaussian over n": Gaussian("n"),
    "kernel, silverman": Kernel(),
    "kernel, scott": Kernel("scott"),
    "ranges, equal width": Binned("equal_width", 4),
    "ranges, equal frequency": Binned("equal_frequency", 3),
    "ranges, each value": Binned("naive"),
}


def clear_of_edges(model: NaiveBayesClassifier, frame: dict[str, np.ndarray]) -> bool:
    """Whether no number lies on an edge, where the side is a matter of the last bit."""
    for name, density in model.densities_.items():
        if isinstance(density, BinnedDensity) and len(density.edges):
            away = np.abs(frame[name][:, None] - density.edges)
            if np.nanmin(np.where(np.isnan(away), np.inf, away)) < 1e-6:
                return False
    return True


@pytest.mark.parametrize("law", list(AFFINE))
@some
@given(data=st.data(), slope=st.sampled_from([0.1, 3.0, 1000.0]), shift=st.sampled_from([0.0, -7.3, 1e4]))
def test_other_units_of_a_numeric_column_leave_the_posterior(law, data, slope, shift):
    rows = data.draw(rows_of(twice("number", AFFINE[law]), min_rows=4))
    model = rows.fit(NaiveBayesClassifier(AFFINE[law]))
    equal_values_part = law == "ranges, equal frequency"  # its edges may be values; (lo, hi] then keeps them
    assume(equal_values_part or clear_of_edges(model, rows.frame))
    moved = {name: column_ * slope + shift for name, column_ in rows.frame.items()}
    if equal_values_part:
        assume(
            all(
                np.isin(d.edges * slope + shift, moved[k]).all() or clear_of_edges(model, rows.frame)
                for k, d in model.densities_.items()
            )
        )
    other = NaiveBayesClassifier(AFFINE[law]).fit(moved, rows.y)
    joint = joint_of(model, rows.frame)
    assert_posteriors_agree(posterior_of(other, moved), posterior_of(model, rows.frame), joint, 1e-8)


@pytest.mark.parametrize(
    "law",
    [
        "gaussian",
        "gaussian over n",
        "kernel, silverman",
        "kernel, scott",
        "ranges, equal width",
        "ranges, each value",
    ],
)
@some
@given(data=st.data(), slope=st.sampled_from([-1.0, -8.0]))
@example(data=None, slope=-1.0)
def test_a_numeric_column_counted_downwards_leaves_the_posterior(law, data, slope):
    if data is None:
        rows = Rows(
            {"a": np.array([1.0, 2.0, 3.0, 9.0, 2.0, 4.0, 5.0, 20.0])},
            objects(["no"] * 4 + ["yes"] * 4),
            np.ones(8, int),
        )
    else:
        rows = data.draw(rows_of(twice("number", AFFINE[law]), min_rows=4))
    model = rows.fit(NaiveBayesClassifier(AFFINE[law]))
    assume(clear_of_edges(model, rows.frame))
    turned = {name: column_ * slope for name, column_ in rows.frame.items()}
    other = NaiveBayesClassifier(AFFINE[law]).fit(turned, rows.y)
    joint = joint_of(model, rows.frame)
    assert_posteriors_agree(posterior_of(other, turned), posterior_of(model, rows.frame), joint, 1e-8)


@pytest.mark.parametrize(
    "law", ["gaussian", "gaussian over n", "kernel, silverman", "kernel, scott", "ranges, each value"]
)
@some
@given(data=st.data())
def test_a_table_shifted_by_1e9_keeps_its_posteriors(law, data):
    """Eighths above 1e9 are still exact, so all that can be lost is lost by the arithmetic."""
    rows = data.draw(rows_of(twice("number", AFFINE[law]), min_rows=4))
    model = rows.fit(NaiveBayesClassifier(AFFINE[law]))
    far = {name: column_ + 1e9 for name, column_ in rows.frame.items()}
    other = NaiveBayesClassifier(AFFINE[law]).fit(far, rows.y)
    joint = joint_of(model, rows.frame)
    assert_posteriors_agree(posterior_of(other, far), posterior_of(model, rows.frame), joint, 1e-6)


# -- missing cells ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("law", BY_COLUMN)
@few
@given(data=st.data())
def test_a_missing_cell_drops_the_factor_of_its_column(law, data):
    rows = data.draw(rows_of(DISTRIBUTIONS[law]))
    model = rows.fit(DISTRIBUTIONS[law].model())
    gone = data.draw(st.sampled_from(sorted(rows.frame)))
    kind = DISTRIBUTIONS[law].columns[gone][0]
    blank = column(kind, [float("nan") if kind in ("number", "count") else None] * len(rows))
    rest = Law({k: v for k, v in DISTRIBUTIONS[law].columns.items() if k != gone}, DISTRIBUTIONS[law].settings)
    without = rest.model().fit({k: v for k, v in rows.frame.items() if k != gone}, rows.y)
    ours = joint_of(model, {**rows.frame, gone: blank})
    assert_logs_agree(ours, joint_of(without, rows.frame), 1e-12)


@every_law
@few
@given(data=st.data(), prior=st.sampled_from(["raw", "smoothed", "uniform", "given"]))
def test_a_row_with_everything_missing_gets_the_prior_exactly(law, data, prior):
    rows = data.draw(rows_of(DISTRIBUTIONS[law]))
    k = len(set(rows.y))
    given_prior = {
        "given": dict(zip(sorted(set(rows.y)), ([1.0], [0.25, 0.75], [0.125, 0.375, 0.5])[k - 1], strict=True))
    }
    model = rows.fit(DISTRIBUTIONS[law].model(prior=given_prior.get(prior, prior)))
    blank = {
        name: column(kind, [float("nan") if kind in ("number", "count") else None])
        for name, (kind, _) in DISTRIBUTIONS[law].columns.items()
    }
    counts = np.array([np.count_nonzero(rows.y == c) for c in model.classes_])
    wanted = {
        "raw": counts / counts.sum(),
        "uniform": np.full(k, 1 / k),
        "given": np.array(list(given_prior["given"].values())),
    }
    np.testing.assert_array_equal(model.predict_joint_log_proba(blank)[0], model.log_prior_)
    np.testing.assert_allclose(model.predict_proba(blank)[0], model.class_prior_, rtol=1e-15, atol=0)
    if prior in wanted:
        np.testing.assert_allclose(model.class_prior_, wanted[prior], rtol=1e-15, atol=0)
    working = model.explain(blank, interval=None)
    assert not working.used
    assert {step.state for step in working.left_out} <= {"missing", "never seen", "constant"}


@pytest.mark.parametrize("law", BY_COLUMN)
@few
@given(data=st.data())
def test_a_missing_cell_in_training_is_left_out_of_its_column_alone(law, data):
    """A column's own tally is that of the rows in which it is there."""
    rows = data.draw(rows_of(DISTRIBUTIONS[law]))
    model = rows.fit(DISTRIBUTIONS[law].model())
    for name, (kind, _) in DISTRIBUTIONS[law].columns.items():
        there = (
            ~np.isnan(rows.frame[name])
            if kind in ("number", "count")
            else objects([c is not None for c in rows.frame[name]]).astype(bool)
        )
        assume(there.any() and set(rows.y[there]) == set(rows.y))
        alone = DISTRIBUTIONS[law].columns[name]
        part = rows.take(there)
        single = Law({name: alone}, DISTRIBUTIONS[law].settings).model().fit({name: part.frame[name]}, part.y)
        key = next(k for k in single.densities_ if k.startswith(name))
        ours, theirs = (np.zeros((len(part), len(model.classes_))) for _ in range(2))
        encoded = {m: m._table(m._open(part.frame), 0, len(part))[key] for m in (model, single)}
        model.densities_[key].add_log_prob(encoded[model], ours)
        single.densities_[key].add_log_prob(encoded[single], theirs)
        assert_logs_agree(ours, theirs, 1e-9)


# -- the working is the answer ------------------------------------------------------------------------------


@pytest.mark.parametrize("law", list(EXPLAINED))
@few
@given(data=st.data())
def test_the_steps_of_the_working_sum_to_the_joint(law, data):
    rows = data.draw(rows_of(EXPLAINED[law]))
    model = rows.fit(EXPLAINED[law].model())
    asked = data.draw(rows_of(EXPLAINED[law], min_rows=1, max_rows=4))
    joint, posterior = joint_of(model, asked.frame), posterior_of(model, asked.frame)
    for i in range(len(asked)):
        working = model.explain(asked.frame, row=i, interval=None, changes=False)
        for c in range(len(model.classes_)):
            summed = math.fsum(step.factors[c].log for step in (working.prior, *working.used))
            assert_logs_agree(np.array([[summed]]), joint[i, c].reshape(1, 1), 1e-12)
        assert list(working.log_joint) == joint[i].tolist()
        assert list(working.posterior) == posterior[i].tolist()
        # scores that differ by less than 1e-12 are a tie, and the first class wins
        assert working.posterior[working.chosen] >= max(working.posterior) * (1 - 1e-11)


@pytest.mark.parametrize(
    "law", ["categorical", "bernoulli", "multinomial", "gaussian", "kernel", "ranges", "poisson"]
)
def test_every_attribute_is_named_in_the_working_even_if_it_has_nothing_to_say(law):
    cells_ = {"bernoulli": ["", ""], "multinomial": ["", ""], "categorical": [None, None]}.get(
        law, [float("nan")] * 2
    )
    kind = {"bernoulli": "text", "multinomial": "text", "categorical": "nominal"}.get(law, "numeric")
    frame = {"x": column("nominal" if kind != "numeric" else "number", cells_)}
    model = NaiveBayesClassifier(law, types={"x": kind}).fit(frame, objects(["a", "b"]))
    working = model.explain(frame)
    assert [step.attribute for step in working.steps] == ["x"]
    assert not working.used


SMOOTHINGS = {"raw": 0, "laplace": 1, "half": 0.5, "uniform m-estimate": MEstimate(3), "global": "global"}


@pytest.mark.parametrize("smoothing", list(SMOOTHINGS))
@pytest.mark.parametrize("law", COUNTED)
@few
@given(data=st.data())
def test_exact_fractions_are_the_floats_that_predict(law, smoothing, data):
    rows = data.draw(rows_of(DISTRIBUTIONS[law]))
    model = rows.fit(DISTRIBUTIONS[law].model(smoothing=SMOOTHINGS[smoothing]))
    joint = joint_of(model, rows.frame)
    for i in range(len(rows)):
        working = model.explain(rows.frame, row=i, interval=None, changes=False)
        for c, exact in enumerate(working.exact_joint):
            if exact is not None:
                assert math.isclose(float(exact), math.exp(joint[i, c]), rel_tol=1e-11, abs_tol=1e-300)
        posterior = working.exact_posterior
        if None not in posterior:
            np.testing.assert_allclose([float(p) for p in posterior], working.posterior, rtol=1e-11, atol=1e-300)


@pytest.mark.parametrize("law", ["categorical", "bernoulli of numbers", "multinomial of text", "bernoulli of text"])
@some
@given(data=st.data())
def test_counted_models_with_whole_counts_always_have_fractions(law, data):
    """A fraction may be missing only in a class that has none of the attribute at all."""
    rows = data.draw(rows_of(DISTRIBUTIONS[law]))
    model = rows.fit(DISTRIBUTIONS[law].model(smoothing=1))
    for i in range(len(rows)):
        assert None not in model.explain(rows.frame, row=i, interval=None, changes=False).exact_joint


@some
@given(data=st.data(), epsilon=st.sampled_from([0, 1, 2]))
def test_the_joint_is_the_product_that_a_person_counts(data, epsilon):
    """The oracle counts the table by hand, in fractions."""
    law = DISTRIBUTIONS["categorical"]
    rows = data.draw(rows_of(law))
    model = rows.fit(law.model(smoothing=epsilon))
    joint = joint_of(model, rows.frame)
    for i, c in itertools.product(range(len(rows)), range(len(model.classes_))):
        mine = rows.y == model.classes_[c]
        product = Fraction(int(mine.sum()), len(rows))
        for cells_ in rows.frame.values():
            if cells_[i] is None:
                continue
            domain = {v for v in cells_ if v is not None}
            here = [v for v in cells_[mine] if v is not None]
            if len(here) + epsilon * len(domain) == 0:  # the class takes the share of all classes
                present = [v for v in cells_ if v is not None]
                product *= Fraction(present.count(cells_[i]), len(present))
            else:
                product *= Fraction(here.count(cells_[i]) + epsilon, len(here) + epsilon * len(domain))
        assert math.isclose(math.exp(joint[i, c]), float(product), rel_tol=1e-12)


@some
@given(data=st.data())
def test_the_gaussian_joint_is_that_of_means_and_deviations_by_hand(data):
    import statistics

    law = DISTRIBUTIONS["gaussian"]
    rows = data.draw(rows_of(law, min_rows=6, gaps=False))
    for c in set(rows.y):
        for cells_ in rows.frame.values():
            mine = cells_[rows.y == c]
            assume(len(mine) > 1 and np.ptp(mine) > 0)
    model = rows.fit(law.model())
    joint = joint_of(model, rows.frame)
    for i, c in itertools.product(range(len(rows)), range(len(model.classes_))):
        mine = rows.y == model.classes_[c]
        log = math.log(mine.sum() / len(rows))
        for cells_ in rows.frame.values():
            normal = statistics.NormalDist.from_samples(cells_[mine].tolist())
            log += -0.5 * ((cells_[i] - normal.mean) / normal.stdev) ** 2 - math.log(
                normal.stdev * math.sqrt(2 * math.pi)
            )
        assert math.isclose(joint[i, c], log, rel_tol=1e-11, abs_tol=1e-11)


@every_law
@few
@given(data=st.data())
def test_posteriors_are_probabilities_and_the_answer_is_the_greatest(law, data):
    rows = data.draw(rows_of(DISTRIBUTIONS[law]))
    model = rows.fit(DISTRIBUTIONS[law].model())
    asked = data.draw(rows_of(DISTRIBUTIONS[law])).frame
    with zeros_allowed():
        proba, logs, answers = model.predict_proba(asked), model.predict_log_proba(asked), model.predict(asked)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-14)
    assert ((proba >= 0) & (proba <= 1)).all()
    np.testing.assert_allclose(np.exp(logs), proba, rtol=1e-12, atol=1e-300)
    place = [model.classes_.tolist().index(a) for a in answers]
    # a tie to the last bit may go either way between logarithms and probabilities, nothing else
    assert (proba[np.arange(len(place)), place] >= proba.max(axis=1) * (1 - 1e-15)).all()


@every_law
@few
@given(data=st.data())
def test_the_posterior_is_the_normalized_joint(law, data):
    from scipy.special import logsumexp

    rows = data.draw(rows_of(DISTRIBUTIONS[law]))
    model = rows.fit(DISTRIBUTIONS[law].model())
    asked = data.draw(rows_of(DISTRIBUTIONS[law])).frame
    joint, posterior = joint_of(model, asked), posterior_of(model, asked)
    possible = np.isfinite(joint).any(axis=1)
    wanted = np.tile(model.class_prior_, (len(joint), 1))
    wanted[possible] = np.exp(joint[possible] - logsumexp(joint[possible], axis=1, keepdims=True))
    assert_posteriors_agree(posterior, wanted, joint, 1e-14)


# -- threads, files, size -----------------------------------------------------------------------------------


@pytest.mark.parametrize("law", ["default", "kernel", "ranges", "auto", "poisson", "multinomial"])
def test_the_number_of_threads_does_not_change_one_bit(law, monkeypatch):
    rng = np.random.default_rng(7)
    n = 150_000 if law in ("default", "poisson") else 40_000
    y = rng.integers(0, 3, n)
    frame = {
        "temp": rng.normal(y, 1.0, n).round(2),  # some hundred points: the exact sums of the reference stay quick
        "rain": rng.normal(0, 5.0, n).round(1),
        "wind": objects(rng.choice(["n", "o", "s", "w"], n)),
        "years": rng.poisson(2 + y, n).astype(float),
    }
    frame["temp"][rng.random(n) < 0.05] = np.nan
    weights = rng.random(n) + 0.5
    spec = (
        None
        if law == "default"
        else {"years": law}
        if law in ("poisson", "multinomial")
        else {"temp": law, "rain": law}
    )
    found = []
    for threads in ("1", "2", "3"):
        monkeypatch.setenv("COUNTWISE_THREADS", threads)
        model = NaiveBayesClassifier(spec).fit(frame, y, sample_weight=weights)
        part = {name: cells_[:40_000] for name, cells_ in frame.items()}
        found.append((model.predict_joint_log_proba(part), model.predict_proba(part), model.predict(part)))
        found[-1] += tuple(
            np.concatenate([np.ravel(x) for x in t.triple]) for t in model.tallies_.values() if hasattr(t, "triple")
        )
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


@every_law
@few
@given(data=st.data(), weighted=st.booleans())
def test_a_saved_model_answers_to_the_last_bit_and_saves_to_the_same_bytes(law, data, weighted, tmp_path_factory):
    rows = data.draw(rows_of(DISTRIBUTIONS[law]))
    folder = tmp_path_factory.mktemp("models")
    weights = rows.weights / 4 if weighted else None
    model = DISTRIBUTIONS[law].model().fit(rows.frame, rows.y, sample_weight=weights)
    countwise.save(model, folder / "one.json")
    back = countwise.load(folder / "one.json")
    countwise.save(back, folder / "two.json")
    assert (folder / "one.json").read_bytes() == (folder / "two.json").read_bytes()
    np.testing.assert_array_equal(joint_of(back, rows.frame), joint_of(model, rows.frame))
    assert back.classes_.tolist() == model.classes_.tolist()
    assert back.classes_.dtype == model.classes_.dtype
    assert back.schema_ == model.schema_


@pytest.mark.parametrize(
    "settings",
    [
        {"smoothing": MEstimate(2.0, "global")},
        {"distributions": {"a": {"kind": "categorical", "smoothing": MEstimate(1.0)}}},
        {"distributions": {"a": countwise.Categorical(smoothing=MEstimate(1.0, {"u": 0.5, "v": 0.5}))}},
        {"prior": (0.5, 0.5)},
        {"prior": np.array([0.25, 0.75])},
        {"types": {"a": Nominal("a", ("u", "v", "w"))}},
        {"categorical_features": ["a"]},
        {"missing": {"a": "value"}},
    ],
    ids=str,
)
def test_a_loaded_model_learns_on_and_merges_as_the_one_that_was_saved(settings, tmp_path):
    frame, y = {"a": objects(["u", "v", "u", "v"])}, objects(["no", "no", "yes", "yes"])
    model = NaiveBayesClassifier(**settings).fit(frame, y)
    countwise.save(model, tmp_path / "model.json")
    back = countwise.load(tmp_path / "model.json")
    assert_same_answers(back + model, model + model, frame)
    more = {"a": objects(["v", "u", "u"])}, objects(["no", "yes", "yes"])
    assert_same_answers(back.partial_fit(*more), model.partial_fit(*more), frame)


def test_models_with_the_same_array_of_priors_merge():
    frame, y = {"x": np.array([1.0, 2.0, 3.0, 5.0])}, objects(["a", "b", "a", "b"])
    one, two = (NaiveBayesClassifier(prior=np.array([0.5, 0.5])).fit(frame, y) for _ in range(2))
    whole = NaiveBayesClassifier(prior=np.array([0.5, 0.5])).fit({"x": np.tile(frame["x"], 2)}, np.tile(y, 2))
    assert_same_answers(one + two, whole, frame)


@pytest.mark.parametrize("name", ["block", "(class)", "class", "a > 0", "a missing", "b > 0"])
@pytest.mark.parametrize("role", ["attribute", "target"])
def test_no_name_of_a_column_is_taken_by_the_machinery(name, role):
    """Derived columns and the counts of the classes must not meet the user's names."""
    frame = {
        "a": np.array([1.0, 0.0, 3.0, 5.0]),
        "b": np.array([0.0, 2.0, 2.0, 1.0]),
        "c": np.array([1.0, 2.0, 0.0, np.nan]),
    }
    spec, missing = {"a": "multinomial", "b": "bernoulli", "c": "gaussian"}, {"a": "value", "c": "value"}
    y, extra = objects(["no", "no", "yes", "yes"]), objects(["u", "v", "u", "u"])

    def fitted(word: str) -> np.ndarray:
        model = NaiveBayesClassifier(spec, missing=missing)
        columns = {**frame, word: y} if role == "target" else {**frame, word: extra, "the target": y}
        model.fit(columns, word if role == "target" else "the target")
        return model.predict_joint_log_proba(columns)

    np.testing.assert_allclose(fitted(name), fitted("harmless"), rtol=1e-12)


def test_a_column_without_use_on_a_large_scale_leaves_every_answer():
    """The noise has the very same numbers in each class, so it says nothing, whatever its unit."""
    rng = np.random.default_rng(3)
    y = np.repeat([0, 1, 2], 200)
    useful = rng.normal(y[:, None], 1.2, (600, 3))
    noise = np.tile(rng.normal(0, 1e8, 200), 3)
    plain = NaiveBayesClassifier().fit(useful, y)
    X = np.column_stack([useful, noise])
    noisy = NaiveBayesClassifier().fit(X, y)
    assert noisy.score(X, y) == plain.score(useful, y)
    np.testing.assert_allclose(noisy.predict_proba(X), plain.predict_proba(useful), rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    "law", ["gaussian", "categorical", "poisson", "kernel", "ranges", "bernoulli", "multinomial"]
)
def test_a_table_of_5000_columns_stays_finite(law):
    rng = np.random.default_rng(5)
    y = np.arange(12) % 2
    X = rng.integers(0, 4, (12, 5000)).astype(float)
    X[rng.random(X.shape) < 0.05] = np.nan
    model = NaiveBayesClassifier(law).fit(X, y)
    assert np.isfinite(model.predict_joint_log_proba(X)).all()
    proba = model.predict_proba(X)
    assert np.isfinite(proba).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-12)
    assert np.isfinite(model.predict_log_proba(X)).all()


# -- portraits, intervals, changes --------------------------------------------------------------------------


@every_law
@few
@given(data=st.data())
def test_rows_drawn_from_a_class_are_rows_that_the_class_could_have(law, data):
    rows = data.draw(rows_of(DISTRIBUTIONS[law]))
    model = rows.fit(DISTRIBUTIONS[law].model())
    for c in model.classes_:
        drawn = model.sample(7, 0, cls=c)
        assert [str(v) for v in drawn[model.target_.name]] == [str(c)] * 7
        assert str(drawn) == str(model.sample(7, 0, cls=c))  # the same seed, the same rows
        for name in set(model.densities_).intersection(drawn):
            check_drawn(model, name, list(drawn[name]))
        assert model.portrait(c)["attribute"] == list(model.densities_)


def check_drawn(model: NaiveBayesClassifier, name: str, cells_: list[Any]) -> None:
    part = next(part for part in model.terms_ if part.key == name)
    words = getattr(part.of, "words", None)
    for cell in cells_:
        if words is not None:
            assert set(cell.split()) <= set(words)
        elif isinstance(part.of, Nominal):
            assert cell in part.of.values or (cell is None and not part.of.values)
        elif not np.any(model.tallies_[name].n):
            assert math.isnan(cell) or math.isfinite(cell)  # nothing was ever there: a gap is as good as any number
        else:
            assert math.isfinite(cell)
            if part.of.kind == "count" and part.distribution.kind == "poisson":
                assert cell >= 0
                assert cell == int(cell)


@pytest.mark.parametrize("law", ["categorical", "gaussian", "poisson", "kernel", "ranges"])
def test_rows_drawn_from_a_class_have_its_frequencies(law):
    rng = np.random.default_rng(11)
    y = np.repeat(["a", "b"], 500)
    x = rng.poisson(np.where(y == "a", 2.0, 7.0)).astype(float)
    X = {"x": objects([str(int(v)) for v in x]) if law == "categorical" else x}
    model = NaiveBayesClassifier(law, smoothing=0).fit(X, y)
    drawn = np.array(model.sample(20_000, 0, cls="b")["x"], dtype=float)
    mean, sd = x[y == "b"].mean(), x[y == "b"].std()
    # ranges give the middle of a range, so their mean is off by up to half a width
    assert abs(drawn.mean() - mean) < (1.0 if law == "ranges" else 5 * sd / math.sqrt(20_000))


@pytest.mark.parametrize(
    "law",
    [
        "categorical",
        "bernoulli of text",
        "multinomial of text",
        "gaussian",
        "poisson",
        "kernel, silverman",
        "ranges, equal width",
    ],
)
def test_intervals_hold_the_posterior_and_narrow_with_more_rows(law):
    rng = np.random.default_rng(2)
    kind = DISTRIBUTIONS[law].columns["a"][0]

    def rows(n: int) -> Rows:
        late = rng.random(n) < 0.5
        frame = {}
        for name in DISTRIBUTIONS[law].columns:
            if kind == "nominal":
                values: Any = np.where(
                    late,
                    rng.choice(["u", "v", "w"], n, p=[0.2, 0.3, 0.5]),
                    rng.choice(["u", "v", "w"], n, p=[0.5, 0.3, 0.2]),
                )
            elif kind == "text":
                values = [
                    " ".join(rng.choice(WORDS, 4, p=[0.1, 0.2, 0.2, 0.2, 0.3] if one else [0.3, 0.2, 0.2, 0.2, 0.1]))
                    for one in late
                ]
            elif kind == "count":
                values = rng.poisson(np.where(late, 3.0, 2.0)).astype(float)
            else:
                values = rng.normal(np.where(late, 1.0, 0.0), 1.0)
            frame[name] = column(kind, list(values))
        return Rows(frame, objects(list(np.where(late, "yes", "no"))), np.ones(n, dtype=int))

    asked = rows(12).frame
    widths = []
    for n in (60, 6000):
        model = rows(n).fit(DISTRIBUTIONS[law].model())
        ends = model.predict_interval(asked, level=0.9, draws=1000)
        proba = model.predict_proba(asked)
        assert ((ends >= 0) & (ends <= 1)).all()
        assert (ends[:, :, 0] <= proba + 1e-12).all()
        assert (proba <= ends[:, :, 1] + 1e-12).all()
        widths.append((ends[:, :, 1] - ends[:, :, 0]).mean())
    # ten times as narrow by the square root of a hundred times the rows; kernels narrow more slowly
    assert widths[1] < widths[0] / (3 if law.startswith("kernel") else 6)


def test_a_wider_level_gives_a_wider_interval():
    model = NaiveBayesClassifier().fit({"x": np.arange(20.0) % 7}, objects(["a", "b"] * 10))
    narrow, wide = (model.predict_interval({"x": [3.0]}, level=level)[0] for level in (0.5, 0.95))
    assert (wide[:, 0] < narrow[:, 0]).all()
    assert (wide[:, 1] > narrow[:, 1]).all()


def test_an_unseen_value_with_a_share_is_in_the_interval_too():
    frame, y = {"s": objects(["u", "v"] * 300)}, objects(["a"] * 590 + ["b"] * 10)
    model = NaiveBayesClassifier(unseen="share").fit(frame, y)
    asked = {"s": objects(["never"])}
    proba, ends = model.predict_proba(asked), model.predict_interval(asked)
    assert (ends[:, :, 0] <= proba).all()
    assert (proba <= ends[:, :, 1]).all()


def inside(label: str, *, whole: bool) -> float:
    """A number in the range that a label names: a whole one for a count, or there is no such change."""
    numbers = [float(text) for text in re.findall(r"-?\d[\d.]*(?:e-?\d+)?", label)]
    if label.startswith("<="):
        return math.floor(numbers[0]) if whole else numbers[0] - 0.01
    if label.startswith(">"):
        return math.floor(numbers[0]) + 1 if whole else numbers[0] + 0.01
    if len(numbers) == 1:  # a bin of a single value
        return numbers[0]
    low, high = numbers
    if whole:
        assert math.floor(high) > low, f"no count lies in {label}"
        return math.floor(high)
    return (low + high) / 2


def applied(model: NaiveBayesClassifier, frame: dict[str, np.ndarray], change: Any) -> dict[str, np.ndarray]:
    """The row with a reported change made, from what a person reads in it."""
    changed = dict(frame)
    for name, text in change.values.items():
        attribute = model.schema_[name]
        if isinstance(model.densities_[name], BinnedDensity):
            value: Any = float(inside(text, whole=attribute.kind == "count"))
        else:
            value = attribute.parse(text)
        changed[name] = np.array([value]) if isinstance(value, float) else objects([value])
    return changed


@every_law
@few
@given(data=st.data())
def test_a_reported_change_flips_the_answer(law, data):
    rows = data.draw(rows_of(DISTRIBUTIONS[law], min_rows=4))
    model = rows.fit(DISTRIBUTIONS[law].model())
    row = rows.take([data.draw(st.integers(0, len(rows) - 1))]).frame
    working = model.explain(row, interval=None)
    assert posterior_of(model, row)[0].max() == max(working.posterior)
    for change in working.changes:
        assert change.to != working.answer
        with zeros_allowed():
            assert model.predict(applied(model, row, change)).tolist() == [change.to]


def test_a_reported_change_is_the_least_for_a_column_of_two_values():
    frame = {"s": objects(["u"] * 9 + ["v"] * 9), "t": objects(["p", "q"] * 9)}
    model = NaiveBayesClassifier().fit(frame, objects(["a"] * 8 + ["b"] * 10))
    (change,) = model.explain({"s": objects(["u"]), "t": objects(["p"])}, interval=None).changes
    assert (change.to, change.values) == ("b", {"s": "v"})
    proba = model.predict_proba({"s": objects(["v"]), "t": objects(["p"])})
    assert change.posterior == pytest.approx(proba[0, 1], rel=1e-12)


@pytest.mark.parametrize("law", ["gaussian", "kernel", "ranges"])
@pytest.mark.parametrize("offset", [0.0, 1e6, 1e9])
def test_a_reported_change_can_be_read_and_made_however_far_from_zero(law, offset):
    rng = np.random.default_rng(1)
    x = np.concatenate([rng.normal(0, 1, 40), rng.normal(3, 1, 40)]).round(3)
    model = NaiveBayesClassifier(law).fit({"x": x + offset}, objects(["a"] * 40 + ["b"] * 40))
    row = {"x": np.array([0.0 + offset])}
    (change,) = model.explain(row, interval=None).changes
    assert change.to == "b"
    assert model.predict(applied(model, row, change)).tolist() == ["b"]


@pytest.mark.parametrize("law", ["ranges, equal frequency", "ranges, each value"])
def test_a_tie_is_not_reported_as_a_change(law):
    """After the change both classes are equally probable: the answer would stay the first, whatever rounding says."""
    frame, y, i = {
        "ranges, equal frequency": ({"a": [0.125, 0.25, 0.0, 0.0], "b": [0.0, 0.0, 0.125, 0.0]}, "nnmm", 2),
        "ranges, each value": ({"a": [0.0, 0.0, 0.0, 0.125], "b": [0.0, 0.125, 0.125, 0.125]}, "myyn", 0),
    }[law]
    model = DISTRIBUTIONS[law].model().fit(frame, objects(list(y)))
    row = {name: np.array(cells_[i : i + 1]) for name, cells_ in frame.items()}
    for change in model.explain(row, interval=None).changes:
        assert model.predict(applied(model, row, change)).tolist() == [change.to]


@pytest.mark.parametrize("law", ["auto", "gaussian", "kernel", "ranges", "poisson"])
def test_a_reported_change_of_a_count_is_a_count(law):
    frame = {"a": np.zeros(4), "b": np.array([0.0, 0.0, 0.0, 1.0])}
    model = NaiveBayesClassifier(law, types="count").fit(frame, objects(["maybe"] * 3 + ["no"]))
    for i in (0, 3):
        row = {name: cells_[i : i + 1] for name, cells_ in frame.items()}
        for change in model.explain(row, interval=None).changes:
            assert model.predict(applied(model, row, change)).tolist() == [change.to]


def test_multinomial_words_beyond_the_limit_do_not_enter_the_working_or_the_joint():
    frame = {"mail": objects(["us us us", "send send us", "us review", "send password"])}
    model = NaiveBayesClassifier({"mail": Multinomial(max_words=2, coefficient=True)}, types="text").fit(
        frame, objects(["a", "b", "a", "b"])
    )
    working = model.explain({"mail": objects(["review review password"])}, interval=None)
    summed = [math.fsum(step.factors[c].log for step in (working.prior, *working.used)) for c in range(2)]
    np.testing.assert_allclose(summed, working.log_joint, rtol=1e-12)


def test_a_column_that_begins_with_nothing_but_gaps_is_what_it_turns_out_to_be():
    """In pieces, in merges and at once: the same kind, the same answers."""
    empty, full = [{"a": None, "b": 1.0}, {"a": None, "b": 2.0}], [{"a": 1.5, "b": 1.0}, {"a": 2.5, "b": 2.5}]
    whole = NaiveBayesClassifier().fit(empty + full, [0, 1, 0, 1])
    assert whole.schema_["a"].kind == "numeric"
    pieces = NaiveBayesClassifier().partial_fit(empty, [0, 1]).partial_fit(full, [0, 1])
    one, two = NaiveBayesClassifier().fit(empty, [0, 1]), NaiveBayesClassifier().fit(full, [0, 1])
    for model in (pieces, one + two, two + one):
        assert model.schema_["a"].kind == "numeric"
        np.testing.assert_allclose(model.predict_proba(full), whole.predict_proba(full), rtol=1e-12)


def test_filling_in_a_missing_cell_changes_the_evidence_of_its_absence_too():
    gap, p, q = {"x": None}, {"x": "p"}, {"x": "q"}
    rows = [gap] * 48 + [p] * 2 + [gap] * 25 + [p] * 20 + [q] * 5
    model = NaiveBayesClassifier(missing={"x": "value"}).fit(rows, ["a"] * 50 + ["b"] * 50)
    working = model.explain([gap])
    assert working.answer == "a"
    for change in working.changes:
        assert model.predict([change.values]).tolist() == [change.to]
        share = model.predict_proba([change.values])[0, model.classes_.tolist().index(change.to)]
        assert share == pytest.approx(change.posterior, rel=1e-12)
    assert {"x": "p"} in [change.values for change in working.changes]
