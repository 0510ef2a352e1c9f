"""Networks that learn by pieces and forget: complete rows, columns that begin with missing values, engines."""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

from countwise import BayesNetwork, BayesNetworkClassifier
from countwise.errors import TableError, TooFewRows

pytestmark = pytest.mark.filterwarnings("ignore::countwise.errors.DataWarning")

# "w" and "gone" occur in incomplete rows only
ROWS = pd.DataFrame(
    {
        "x": ["u", "v", "w", "u", None, "v", "u", "v"],
        "z": ["p", "q", None, "q", "p", "p", "p", "q"],
        "n": [1.0, 2.5, 3.0, 4.0, 2.0, np.nan, 0.5, 1.5],
        "y": ["a", "b", "gone", "b", "a", "a", "b", "a"],
    }
)
COMPLETE = ROWS.dropna().reset_index(drop=True)
STRUCTURE = [("y", "x"), ("x", "z"), ("y", "n")]
MODELS: dict[str, Any] = {
    "naive": lambda: BayesNetworkClassifier("naive", missing="complete"),
    "given": lambda: BayesNetworkClassifier(STRUCTURE, missing="complete"),
    "class with parents": lambda: BayesNetworkClassifier([("x", "y"), ("y", "z")], missing="complete"),
    "without a class": lambda: BayesNetwork([("x", "z"), ("x", "n")], missing="complete"),
}
every_model = pytest.mark.parametrize("name", MODELS)


def assert_same_network(ours: Any, theirs: Any) -> None:
    assert ours.schema_ == theirs.schema_
    assert ours.target_ == theirs.target_
    assert ours.n_rows_ == theirs.n_rows_
    assert ours.graph_ == theirs.graph_
    for name, tally in ours.tallies_.items():
        one, two = (t.filled if hasattr(t, "axes") else t.filled.triple for t in (tally, theirs.tallies_[name]))
        np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-12)


def arguments(name: str, rows: pd.DataFrame) -> tuple[Any, ...]:
    return (rows.drop(columns="y"),) if name == "without a class" else (rows, "y")


@every_model
def test_complete_rows_are_those_that_dropna_leaves_in_counts_domains_and_classes(name):
    assert_same_network(MODELS[name]().fit(*arguments(name, ROWS)), MODELS[name]().fit(*arguments(name, COMPLETE)))


@every_model
@pytest.mark.parametrize("cuts", [[3], [1, 2, 5], [2, 3, 4, 6]])
def test_complete_rows_by_pieces_in_any_order_are_those_of_the_whole(name, cuts):
    pieces = [ROWS.iloc[i] for i in np.split(np.arange(len(ROWS)), cuts)]
    whole = MODELS[name]().fit(*arguments(name, ROWS))
    for order in (pieces, pieces[::-1]):
        model = MODELS[name]()
        for piece in order:
            model.partial_fit(*arguments(name, piece))
        assert_same_network(model, whole)


@every_model
def test_forgetting_incomplete_rows_changes_nothing(name):
    model, same = (MODELS[name]().fit(*arguments(name, ROWS)) for _ in range(2))
    gone = ROWS[ROWS.isna().any(axis=1)]
    assert_same_network(model.forget(*arguments(name, gone)), same)
    mixed = ROWS.iloc[[2, 3, 4]]
    assert_same_network(
        model.forget(*arguments(name, mixed)), MODELS[name]().fit(*arguments(name, COMPLETE.drop(index=2)))
    )


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
@every_model
def test_engines_count_and_forget_the_complete_rows_of_memory(name, engine):
    def held(rows: pd.DataFrame) -> Any:
        frame = pl.from_pandas(rows.drop(columns="y") if name == "without a class" else rows)
        return frame.lazy() if engine == "polars" else duckdb.from_arrow(frame.to_arrow())

    target = () if name == "without a class" else ("y",)
    ours, theirs = MODELS[name]().fit(held(ROWS), *target), MODELS[name]().fit(*arguments(name, ROWS))
    assert_same_network(ours, theirs)
    for gone in (ROWS.iloc[[2, 4]], ROWS.iloc[[3, 4]]):
        assert_same_network(ours.forget(held(gone), *target), theirs.forget(*arguments(name, gone)))


@every_model
def test_rows_that_are_all_incomplete_wait_for_complete_ones(name):
    incomplete = ROWS[ROWS.isna().any(axis=1)]
    with pytest.raises(TooFewRows, match="Every row has a missing value"):
        MODELS[name]().fit(*arguments(name, incomplete))
    model = MODELS[name]().partial_fit(*arguments(name, incomplete))
    with pytest.raises(TooFewRows, match="Every row has a missing value"):
        model.score(*arguments(name, COMPLETE)) if name == "without a class" else model.predict(COMPLETE)
    assert_same_network(model.partial_fit(*arguments(name, COMPLETE)), MODELS[name]().fit(*arguments(name, COMPLETE)))
    assert_same_network(
        model.partial_fit(*arguments(name, incomplete)), MODELS[name]().fit(*arguments(name, COMPLETE))
    )


def test_an_error_about_a_later_row_names_the_row_of_the_table():
    model = BayesNetworkClassifier("naive", missing="complete").fit(ROWS, "y")
    rows = pd.DataFrame({"x": [None, "u", "new"], "z": ["p"] * 3, "n": [1.0] * 3, "y": ["a"] * 3})
    with pytest.raises(ValueError, match="'new' in row 2"):
        model.forget(rows, "y")


# -- columns without values -------------------------------------------------------------------------

LATER: dict[str, Any] = {
    "strings": ["p", "q", "p", "q"],
    "booleans": [True, True, None, True],
    "numbers": [1.0, 2.5, None, 4.0],
    "categories": pd.Categorical(["p", "q", "p", "p"], categories=["q", "p", "r"]),
    "ordered": pd.Categorical(["p", "q", "p", "p"], categories=["q", "p"], ordered=True),
}


@pytest.mark.parametrize("missing", [None, np.nan])
@pytest.mark.parametrize("kind", LATER)
@pytest.mark.parametrize("structure", ["naive", "tan", "k_dependence"])
def test_a_column_may_have_its_first_values_after_the_first_piece(structure, kind, missing):
    first = {"x": ["u", "v"], "z": [missing, missing]}
    later, classes = {"x": ["u", "v", "v", "u"], "z": LATER[kind]}, list("abab")
    model = BayesNetworkClassifier(structure, missing="available").partial_fit(first, list("ab"))
    assert model.predict_proba({"x": ["u"], "z": [missing]}).shape == (1, 2)
    model.partial_fit(later, classes)
    whole = BayesNetworkClassifier(model.graph_, missing="available")
    whole.partial_fit(later, classes).partial_fit(first, list("ab"))
    assert ("class", "z") in model.graph_.arcs
    assert model.schema_ == whole.schema_
    np.testing.assert_allclose(model.predict_proba(later), whole.predict_proba(later), rtol=1e-12)
    assert str(model.cpt("z")) if kind != "numbers" else model.densities_["z"]


def test_networks_of_a_column_with_and_without_values_merge_in_any_order():
    pieces = [({"x": ["u", "v"], "z": [None, None]}, list("ab")), ({"x": ["u", "v"], "z": [1.0, 2.0]}, list("ab"))]
    a, b = (BayesNetworkClassifier("naive", missing="available").fit(X, y) for X, y in pieces)
    assert (a + b).schema_ == (b + a).schema_ == b.schema_
    asked = {"x": ["u"], "z": [1.5]}
    np.testing.assert_allclose((a + b).predict_proba(asked), (b + a).predict_proba(asked), rtol=1e-12)


def test_numbers_that_would_have_to_be_discretized_cannot_come_after_the_structure():
    model = BayesNetworkClassifier([("z", "x"), ("y", "x")], missing="available")
    model.partial_fit(pd.DataFrame({"x": ["u", "v"], "z": [None, None], "y": list("ab")}), "y")
    with pytest.raises(TableError, match="its numbers cannot be discretized"):
        model.partial_fit(pd.DataFrame({"x": ["u", "v"], "z": [1.0, 2.0], "y": list("ab")}), "y")
