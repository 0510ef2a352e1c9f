"""The laws of evaluation: adding up what pieces were counted to be is fitting anew, on whatever table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from countwise import (
    Bernoulli,
    DiscriminantClassifier,
    MEstimate,
    Multinomial,
    cross_validate,
    learning_curve,
    leave_one_out,
)
from countwise.errors import CountwiseError
from countwise.evaluation.dataset import evaluation_data
from countwise.evaluation.fold_models import predict_rows, prefixes, refitted

from .strategies import DISTRIBUTIONS, Rows, examples, rows_of, twice, zeros_allowed

pytestmark = pytest.mark.filterwarnings("ignore::countwise.errors.DataWarning")
EVERY = {
    **DISTRIBUTIONS,
    "categorical, raw": twice("nominal", "categorical", smoothing=0),
    "categorical, a share for the unseen": twice("nominal", "categorical", unseen="share"),
    "missing is a value": twice("nominal", "categorical", missing="value"),
    "poisson, raw": twice("count", "poisson", smoothing=0),
    "prior smoothed": twice("nominal", "categorical", prior="smoothed"),
    **{f"{name}, {kind}": twice("text", law, smoothing=smoothing)
       for name, law in (("bernoulli of text", Bernoulli), ("multinomial of text", Multinomial))
       for kind, law, smoothing in (
           ("raw", law(), 0), ("capped", law(cap=0.5), 1), ("of two words", law(max_words=2), 0.5),
           ("of all words", law(max_words=None), 1), ("m-estimate", law(), MEstimate(2.0)),
           ("global shares", law(), "global"),
       )},
    "multinomial of text, repeats": twice("text", Multinomial(repeats=1)),
}  # fmt: skip
every_law = pytest.mark.parametrize("law", EVERY)


def answers(found: Any) -> np.ndarray:
    return found.predictions.proba


def assert_same(ours: Any, theirs: Any) -> None:
    """The same folds failed, and the others have the same answers."""
    assert [f.predictions is None for f in ours.folds] == [f.predictions is None for f in theirs.folds]
    if ours.done:
        np.testing.assert_allclose(answers(ours), answers(theirs), rtol=0, atol=1e-10)
        assert ours.predictions.zeros == theirs.predictions.zeros


@every_law
@examples(8)
@given(st.data())
def test_folds_that_are_added_up_are_folds_fitted_anew(law, data):
    law = EVERY[law]
    rows = data.draw(rows_of(law, min_rows=4))
    cv = data.draw(st.integers(2, min(4, len(rows))))
    weights = rows.weights if data.draw(st.booleans()) else None
    how = {"cv": cv, "sample_weight": weights, "scoring": ["accuracy", "log_loss"]}
    try:
        with zeros_allowed():
            theirs = cross_validate(law.model(), rows.frame, rows.y, fast=False, **how)
    except CountwiseError as error:
        with pytest.raises(type(error)):
            cross_validate(law.model(), rows.frame, rows.y, **how)
        return
    with zeros_allowed():
        ours = cross_validate(law.model(), rows.frame, rows.y, **how)
    assert ours.folds[0].fitted.how == "adding"
    assert theirs.folds[0].fitted.how == "fitting"
    assert_same(ours, theirs)


@every_law
@examples(3)
@given(st.data())
def test_leaving_a_row_out_is_fitting_without_it(law, data):
    law = EVERY[law]
    rows = data.draw(rows_of(law, min_rows=3, max_rows=12))
    weights = rows.weights if data.draw(st.booleans()) else None
    table = evaluation_data(rows.frame, rows.y, weights)
    assume(len(set(rows.y)) > 1)
    every, expected = np.arange(len(table)), []
    for i in every:
        found = refitted(law.model(), table.subset(np.delete(every, i)))
        if found.error is not None:
            return  # no model of the others
        with zeros_allowed():
            expected.append(predict_rows(found.model, table.subset(every[i : i + 1])).proba[0])
    with zeros_allowed():
        ours = leave_one_out(law.model(), rows.frame, rows.y, sample_weight=weights)
    np.testing.assert_allclose(answers(ours), expected, rtol=0, atol=1e-10)


@every_law
@examples(3)
@given(st.data())
def test_running_sums_are_fits_of_the_first_rows(law, data):
    law = EVERY[law]
    rows = data.draw(rows_of(law, min_rows=4))
    table = evaluation_data(rows.frame, rows.y)
    order = np.array(data.draw(st.permutations(range(len(rows)))))
    sizes = sorted(data.draw(st.sets(st.integers(1, len(rows)), min_size=1, max_size=3)))
    piece = table.subset(order)
    pairs = zip(prefixes(law.model(), piece, sizes), prefixes(law.model(), piece, sizes, fast=False), strict=True)
    for ours, theirs in pairs:
        assert (ours.error is None) == (theirs.error is None)
        if ours.error is None:
            with zeros_allowed():
                one, two = predict_rows(ours.model, piece), predict_rows(theirs.model, piece)
            np.testing.assert_allclose(one.proba, two.proba, rtol=0, atol=1e-10)


def wide(seed: int, n: int) -> Rows:
    rng = np.random.default_rng(seed)
    frame = {name: rng.normal(size=n) for name in "abc"}
    frame["b"] = np.where(rng.random(n) < 0.1, np.nan, frame["b"])
    return Rows(frame, rng.choice(np.array(["u", "v"], dtype=object), n), rng.integers(1, 3, n))


@examples(8)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["shared", "own"]))
def test_discriminants_add_up_too(seed, covariance):
    rows = wide(seed, 60)
    model = DiscriminantClassifier(covariance, shrinkage=0.1)
    ours, theirs = (cross_validate(model, rows.frame, rows.y, cv=4, fast=fast) for fast in (True, False))
    np.testing.assert_allclose(answers(ours), answers(theirs), rtol=0, atol=1e-9)
    one, two = (
        learning_curve(model, rows.frame, rows.y, repeats=2, scoring="brier", fast=fast) for fast in (True, False)
    )
    np.testing.assert_allclose(one.test_scores, two.test_scores, rtol=0, atol=1e-9)


@examples(12)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(["shared", "own", "diagonal", "spherical"]),
    st.sampled_from(["n", "n-classes"]),
    st.booleans(),
    st.booleans(),
)
def test_discriminants_without_a_row_are_fitted_without_it(seed, covariance, divisor, weighted, gaps):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(20, 40))
    y = rng.choice(np.array(["u", "v"], dtype=object), n)
    frame = {name: rng.normal(size=n) + (y == "u") * rng.normal() for name in "abc"}
    if gaps:
        frame["c"] = np.where(rng.random(n) < 0.1, np.nan, frame["c"])
    else:  # z may come once; EM would creep towards what cannot be inverted, and end short of it or not
        frame["kind"] = rng.choice(np.array(["x", "y", "z"], dtype=object), n, p=[0.45, 0.5, 0.05])
    weights = rng.integers(1, 4, n) if weighted else None
    model = DiscriminantClassifier(covariance, divisor=divisor, nominal="onehot")
    table = evaluation_data(frame, y, weights)
    every, expected, kept = np.arange(n), [], []
    for i in every:
        found = refitted(model, table.subset(np.delete(every, i)))
        if found.error is None:
            expected.append(predict_rows(found.model, table.subset(every[i : i + 1])).proba[0])
            kept.append(i)
    try:
        ours = leave_one_out(model, frame, y, sample_weight=weights)
    except CountwiseError:
        assert not kept or refitted(model, table.subset(every)).error is not None
        return
    assert ours.rows.tolist() == kept
    tolerance = 1e-10 if not gaps else 1e-6  # EM ends where steps are small, and starts from other rows
    np.testing.assert_allclose(answers(ours), expected, rtol=0, atol=tolerance)
