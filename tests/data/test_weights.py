"""Weights of rows: one rule for every learner, and errors that say what is wrong."""

from __future__ import annotations

import decimal
import fractions
from typing import Any

import numpy as np
import pandas as pd
import pytest

from countwise import (
    BayesNetworkClassifier,
    Discretizer,
    DiscriminantClassifier,
    NaiveBayesClassifier,
    NeighborsClassifier,
    ParzenClassifier,
    ParzenDensity,
    PEBLSClassifier,
    PrototypeClassifier,
    RuleClassifier,
    TreeClassifier,
)
from countwise.data.weights import weights_of
from countwise.errors import CountwiseError, TableError

X = {"a": np.arange(6.0), "b": np.arange(6) % 2 + 0.5}
Y = list("ababab")
LEARNERS = [
    NaiveBayesClassifier(),
    NaiveBayesClassifier("kernel"),
    DiscriminantClassifier(),
    TreeClassifier(),
    RuleClassifier(),
    NeighborsClassifier(1),
    PEBLSClassifier(),
    PrototypeClassifier(),
    ParzenClassifier(),
    ParzenDensity(),
    BayesNetworkClassifier("naive"),
    Discretizer("mdl"),
]
WRONG = {
    "complex": (np.ones(6, complex), "real number"),
    "text": (np.array(list("abcdef")), "'a', which is not a real number"),
    "digits as text": (["1"] * 6, "not a real number"),
    "objects": ([1, 2, 3, None, 5, 6], "row 3 is None"),
    "a nullable column": (pd.array([1, 2, 3, None, 5, 6], dtype="Int64"), "row 3"),
    "masked": (np.ma.array(np.ones(6), mask=[0, 0, 1, 0, 0, 0]), "row 2 is nan"),
    "dates": (np.array(["2020-01-01"] * 6, dtype="datetime64[D]"), "not a real number"),
    "NaN": ([1, 1, float("nan"), 1, 1, 1], "row 2 is nan"),
    "infinity": ([1, 1, float("inf"), 1, 1, 1], "finite"),
    "an integer beyond floats": ([1, 1, 10**400, 1, 1, 1], "finite"),
    "negative": ([1, 1, -1, 1, 1, 1], "Negative values.*row 2"),
    "zeros": (np.zeros(6), "zero"),
    "too few": (np.ones(5), "expected"),
    "a column": (np.ones((6, 1)), "1D"),
    "rows of different lengths": ([[1], [1, 2], 1, 1, 1, 1], "array of numbers"),
    "a mapping": ({"a": 1}, "one number for each row"),
    "1e308": (np.full(6, 1e308), "1e\\+100"),
    "1e-300": (np.full(6, 1e-300), "1e-100"),
    "a denormal": ([1, 1, 5e-324, 1, 1, 1], "row 2.*1e-100"),
}


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("case", WRONG)
def test_weights_that_are_no_weights_are_refused_by_every_learner(learner, case):
    weights, words = WRONG[case]
    with pytest.raises(CountwiseError, match=words):
        learner.fit(X, Y, sample_weight=weights)


@pytest.mark.parametrize("case", WRONG)
def test_weights_that_are_no_weights_are_refused_by_a_score(case):
    weights, words = WRONG[case]
    model = NaiveBayesClassifier().fit(X, Y)
    with pytest.raises(CountwiseError, match=words):
        model.score(X, Y, sample_weight=weights)


@pytest.mark.parametrize(
    ("given", "wanted", "kind"),
    [
        ([True, False, True], [1, 0, 1], "i"),
        ([1.0, 2.0, 0.0], [1, 2, 0], "i"),
        (np.array([1, 2, 3], dtype=np.uint64), [1, 2, 3], "i"),
        (np.array([0.5, 1, 2], dtype=np.float16), [0.5, 1, 2], "f"),
        ([decimal.Decimal("0.5"), fractions.Fraction(1, 4), 2], [0.5, 0.25, 2], "f"),
        (pd.Series([1, 2, 3]), [1, 2, 3], "i"),
        (2, [2, 2, 2], "i"),
        (np.full(3, 2**62), [2.0**62] * 3, "f"),
        (np.array([2**64 - 1, 1, 1], dtype=np.uint64), [2.0**64, 1, 1], "f"),
        ([2**53 - 3, 1, 1], [2**53 - 3, 1, 1], "i"),
        ([2**53, 1, 1], [2.0**53, 1, 1], "f"),
        ([1e100, 1e-100, 0], [1e100, 1e-100, 0], "f"),
    ],
)
def test_weights_become_integers_where_their_sum_is_exact_else_floats(given: Any, wanted, kind):
    found = weights_of(given, 3)
    assert found is not None
    assert found.dtype.kind == kind
    assert found.tolist() == wanted


@pytest.mark.parametrize("size", [2**53, 2**59, 2**62, 2**63])
def test_large_whole_weights_count_as_they_are(size):
    table, y = {"a": ["u", "v"] * 20}, (["p"] * 3 + ["q"]) * 10
    for model in (NaiveBayesClassifier(smoothing=0), TreeClassifier()):
        plain = model.fit(table, y).predict_proba(table)
        weighed = model.fit(table, y, sample_weight=np.full(40, size, dtype=np.uint64)).predict_proba(table)
        np.testing.assert_allclose(weighed, plain, rtol=1e-12)
        assert (model.class_count_ > 0).all()


def test_whole_weights_whose_sum_in_pieces_exceeds_64_bits_count_as_they_are():
    model = NaiveBayesClassifier(smoothing=0)
    for _ in range(3):
        model.partial_fit({"a": ["u", "v"]}, ["p", "q"], sample_weight=[2**52, 2**51])
    parts = model
    for _ in range(11):
        parts = parts + parts
    assert parts.class_count_.min() > 0
    np.testing.assert_allclose(parts.predict_proba({"a": ["u"]}), model.predict_proba({"a": ["u"]}), rtol=1e-12)


@pytest.mark.parametrize("w", [1e308, 1e-300])
def test_weights_of_an_engine_table_obey_the_same_limits(w):
    duckdb = pytest.importorskip("duckdb")
    frame = pd.DataFrame({"a": np.arange(6.0), "y": Y, "w": np.full(6, w)})
    for learner in (NaiveBayesClassifier(), TreeClassifier(thresholds="binned")):
        with pytest.raises(TableError, match="from 1e-100 to 1e\\+100"):
            learner.fit(duckdb.from_df(frame), "y", sample_weight="w")


def test_fractional_weights_of_an_engine_table_give_the_bandwidths_of_memory():
    duckdb = pytest.importorskip("duckdb")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": np.round(rng.normal(size=60), 1), "y": np.resize(list("ab"), 60)})
    frame["w"] = rng.choice([0.5, 0.3, 2.0], 60)
    memory = NaiveBayesClassifier("kernel").fit(frame[["a"]], frame["y"], sample_weight=frame["w"])
    engine = NaiveBayesClassifier("kernel").fit(duckdb.from_df(frame), "y", sample_weight="w")
    np.testing.assert_allclose(engine.densities_["a"].bandwidths, memory.densities_["a"].bandwidths, rtol=1e-12)
