"""Pieces of a table: learned one by one in any order, merged or forgotten, they are the table as a whole."""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from countwise import (
    BayesNetworkClassifier,
    DiscriminantClassifier,
    NaiveBayesClassifier,
    ParzenClassifier,
    PrototypeClassifier,
    leave_one_out,
)
from countwise.errors import TableError, TooFewRows
from strategies.pieces import CONTAINERS, VALUES, Pieces, pieces

from .strategies import examples

pytestmark = pytest.mark.filterwarnings("ignore::countwise.errors.DataWarning")

NOT_TEXT = tuple(kind for kind in VALUES if kind != "text")
NUMERIC = ("boolean", "number", "date", "count")
MODELS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "naive Bayes": (lambda types: NaiveBayesClassifier(types=types), tuple(VALUES)),
    "uniform prior": (lambda types: NaiveBayesClassifier(types=types, prior="uniform"), tuple(VALUES)),
    "smoothed prior": (lambda types: NaiveBayesClassifier(types=types, prior="smoothed"), NOT_TEXT),
    "missing is a value": (lambda types: NaiveBayesClassifier(types=types, missing="value"), tuple(VALUES)),
    "kernel": (lambda types: NaiveBayesClassifier("kernel", types=types), ("number", "string", "boolean")),
    "network of available values": (
        lambda types: BayesNetworkClassifier("naive", missing="available", types=types, prior="uniform"),
        NOT_TEXT,
    ),
    "network of complete rows": (
        lambda types: BayesNetworkClassifier("naive", missing="complete", types=types),
        NOT_TEXT,
    ),
    "discriminant": (
        lambda types: DiscriminantClassifier(nominal="onehot", types=types, prior="uniform", missing="complete"),
        NOT_TEXT,
    ),
    "discriminant of numbers": (lambda types: DiscriminantClassifier(types=types, missing="complete"), NUMERIC),
    "Parzen": (lambda types: ParzenClassifier(types=types, prior="uniform"), NOT_TEXT),
    "prototype": (lambda types: PrototypeClassifier(types=types), NOT_TEXT),
}
every_model = pytest.mark.parametrize("name", MODELS)


def blank(name: str, table: Pieces) -> Any:
    return MODELS[name][0](table.types)


def answers(model: Any, table: Any) -> Any:
    """The posteriors, or TooFewRows."""
    try:
        return model.predict_proba(table)
    except TooFewRows:
        return None


def fitted(model: Any, table: Pieces, container: str = "pandas") -> Any:
    """The model of a whole table, or None if there are too few rows."""
    try:
        return model.fit(table.table(container), table.classes())
    except TooFewRows:
        return None


def assert_same_model(ours: Any, theirs: Any, table: Any) -> None:
    assert ours.classes_.tolist() == theirs.classes_.tolist()
    assert ours.schema_ == theirs.schema_
    assert str(ours.schema_.to_dict()) == str(theirs.schema_.to_dict())
    assert ours.n_rows_ == theirs.n_rows_
    assert list(ours.tallies_) == list(theirs.tallies_)
    for key, tally in ours.tallies_.items():
        assert type(tally) is type(theirs.tallies_[key])
        if hasattr(tally, "axes"):
            assert tally.to_dict() == theirs.tallies_[key].to_dict()
    one, two = answers(ours, table), answers(theirs, table)
    assert (one is None) == (two is None)
    if one is not None:
        np.testing.assert_allclose(one, two, rtol=1e-7, atol=1e-9)


@every_model
@examples(6)
@given(data=st.data())
def test_pieces_in_any_order_are_the_whole(name, data):
    table = data.draw(pieces(MODELS[name][1]))
    parts = data.draw(st.permutations(table.split()))
    container = data.draw(st.sampled_from(CONTAINERS))
    model = blank(name, table)
    for part in parts:
        model.partial_fit(part.table(container), part.classes())
    whole = fitted(blank(name, table), table, container)
    if whole is None:
        assert answers(model, table.table(container)) is None
    else:
        assert_same_model(model, whole, table.table(container))


@every_model
@examples(6)
@given(data=st.data())
def test_models_of_pieces_merge_in_any_order_to_that_of_the_whole(name, data):
    table = data.draw(pieces(MODELS[name][1]))
    parts = data.draw(st.permutations(table.split()))
    models = [fitted(blank(name, table), part) for part in parts]
    whole = fitted(blank(name, table), table)
    if any(model is None for model in (*models, whole)):
        return
    at = data.draw(st.integers(1, len(models))) if len(models) > 1 else 1
    left, right = _merged(models[:at]), _merged(models[at:])
    assert_same_model(left if right is None else left + right, whole, table.table())
    if right is not None:
        assert_same_model(right + left, whole, table.table())


def _merged(models: list[Any]) -> Any:
    found = None
    for model in models:
        found = model if found is None else found + model
    return found


@every_model
@examples(6)
@given(data=st.data())
def test_a_model_that_forgets_rows_is_the_model_without_them(name, data):
    table = data.draw(pieces(MODELS[name][1], min_rows=3))
    kept = sorted(data.draw(st.sets(st.integers(0, len(table) - 1), min_size=1, max_size=len(table) - 1)))
    gone = [i for i in range(len(table)) if i not in kept]
    rest, whole = fitted(blank(name, table), table.take(kept)), fitted(blank(name, table), table)
    if rest is None or whole is None:
        return
    part = table.take(gone)
    whole.forget(part.table(), part.classes())
    assert whole.classes_.tolist() == rest.classes_.tolist()
    typed = [
        a.name for a, b in zip(whole.schema_.attributes, rest.schema_.attributes, strict=True) if type(a) is type(b)
    ]
    assert [whole.schema_[n] for n in typed] == [rest.schema_[n] for n in typed]
    # a column whose values are all forgotten keeps its type
    assert all(not any(v is not None for v in table.take(kept).columns[n]) for n in rest.schema_ if n not in typed)
    np.testing.assert_allclose(
        whole.predict_proba(table.table()), rest.predict_proba(table.table()), rtol=1e-6, atol=1e-8
    )


# -- containers and engines ---------------------------------------------------------------------


@examples(20)
@given(data=st.data())
def test_every_container_gives_the_same_domains(data):
    table = data.draw(pieces(tuple(kind for kind in NOT_TEXT if kind not in ("category", "ordered"))))
    models = {c: NaiveBayesClassifier(types=table.types).fit(table.table(c), table.classes()) for c in CONTAINERS}
    values = {name for name, cells in table.columns.items() if set(cells) != {None}}  # the others have no type
    expected = models["pandas"]
    for container, model in models.items():
        assert {a for a in model.schema_.attributes if a.name in values} == {
            a for a in expected.schema_.attributes if a.name in values
        }, container
        np.testing.assert_allclose(
            model.predict_proba(table.table(container)), expected.predict_proba(table.table()), rtol=1e-9
        )


ENGINES: dict[str, Any] = {
    "duckdb": lambda t: duckdb.from_arrow(t.whole("arrow")),
    "polars": lambda t: t.whole("polars").lazy(),
}
IN_ENGINES = [
    "naive Bayes",
    "uniform prior",
    "missing is a value",
    "discriminant",
    *(n for n in MODELS if "network" in n),
]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", IN_ENGINES)
@examples(3)
@given(data=st.data())
def test_an_engine_has_the_domains_of_memory_and_forgets_alike(name, engine, data):
    table = data.draw(
        pieces(("string", "boolean", "number", "count", "code"), ("string", "boolean", "code"), min_rows=3)
    )
    ours, theirs = blank(name, table), blank(name, table)
    try:
        theirs.fit(table.whole("polars"), "y")
    except TooFewRows:
        return
    ours.fit(ENGINES[engine](table), "y")
    assert_same_model(ours, theirs, table.table("polars"))
    part = table.take(range(data.draw(st.integers(1, len(table) - 1))))
    outcomes = []
    for model, rows in ((ours, ENGINES[engine](part)), (theirs, part.whole("polars"))):
        try:
            outcomes.append(model.forget(rows, "y"))
        except TableError:  # too few rows are left
            outcomes.append(None)
    assert (outcomes[0] is None) == (outcomes[1] is None)
    if None not in outcomes:
        assert_same_model(ours, theirs, table.table("polars"))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", ["naive Bayes", "missing is a value", "discriminant"])
@examples(3)
@given(data=st.data())
def test_pieces_in_memory_and_in_an_engine_are_the_whole(name, engine, data):
    ordered = ("ordered",) if engine == "polars" else ()  # DuckDB reads Arrow dictionaries as strings
    kinds, targets = ("string", "boolean", "number", "code", *ordered), ("string", "boolean", *ordered)
    table = data.draw(pieces(kinds, targets, min_rows=3))
    model = blank(name, table)
    for part in table.split():
        in_engine = data.draw(st.booleans())
        model.partial_fit(ENGINES[engine](part) if in_engine else part.whole("polars"), "y")
    try:
        whole = blank(name, table).fit(table.whole("polars"), "y")
    except TooFewRows:
        return
    assert_same_model(model, whole, table.table("polars"))


# -- leave-one-out --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in MODELS if "complete" not in name])
@examples(3)
@given(data=st.data())
def test_leaving_one_row_out_is_fitting_without_it(name, data):
    table = data.draw(pieces(tuple(kind for kind in MODELS[name][1] if kind != "date"), min_rows=3, max_rows=7))
    if fitted(blank(name, table), table) is None:
        return
    found = leave_one_out(blank(name, table), table.table(), table.classes())
    for i, proba in zip(found.rows, found.predictions.proba, strict=True):
        rest = fitted(blank(name, table), table.take([j for j in range(len(table)) if j != i]))
        again = dict(zip(rest.classes_.tolist(), rest.predict_proba(table.take([i]).table())[0], strict=True))
        np.testing.assert_allclose(
            proba, [again.get(c, 0.0) for c in found.predictions.classes], rtol=1e-6, atol=1e-8
        )
