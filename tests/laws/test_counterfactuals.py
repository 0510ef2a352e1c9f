"""What would change a prediction really changes it, as the working shows it, with values that the data could have."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from countwise import NaiveBayesClassifier
from countwise.distributions.binned import BinnedDensity
from countwise.working import Change

DISTRIBUTIONS = ["gaussian", "kernel", "auto", "binned", "poisson"]


def objects(values: Any) -> np.ndarray:
    column = np.empty(len(values), dtype=object)
    column[:] = list(values)
    return column


def read(model: NaiveBayesClassifier, name: str, text: str) -> float:
    """The number that a person reads in a change; any number of the bin if it names a bin."""
    density = model.densities_[name]
    if not isinstance(density, BinnedDensity):
        return float(text)
    return float(density.grid()[density.of.values.index(text)])


def after(model: NaiveBayesClassifier, row: dict[str, Any], change: Change) -> dict[str, Any]:
    made = dict(row)
    for name, text in change.values.items():
        numeric = model.schema_[name].kind in ("numeric", "count")
        made[name] = np.array([read(model, name, text)]) if numeric else objects([model.schema_[name].parse(text)])
    return made


def check(model: NaiveBayesClassifier, row: dict[str, Any], frame: dict[str, np.ndarray]) -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        working = model.explain(row, interval=None)
        for change in working.changes:
            assert model.predict(after(model, row, change)).tolist() == [change.to], change
            assert change.to != working.answer
            place = model.classes_.tolist().index(change.to)
            assert change.posterior == pytest.approx(
                model.predict_proba(after(model, row, change))[0, place], rel=1e-9
            )
            for name, text in change.values.items():
                column = frame[name]
                if column.dtype.kind == "O":
                    assert text in {str(value) for value in column}
                elif not isinstance(model.densities_[name], BinnedDensity):
                    assert np.nanmin(column) <= float(text) <= np.nanmax(column), change
                    if (np.isnan(column) | (np.floor(column) == column)).all():
                        assert float(text).is_integer(), change
    return len(working.changes)


@st.composite
def tables(draw: st.DrawFn) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Numbers near and far from 0, amounts, whole numbers and names, with missing values."""
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    n, k = draw(st.integers(4, 40)), draw(st.integers(2, 4))
    y = rng.integers(0, k, n)
    offset = draw(st.sampled_from([0.0, 0.0, 1e5, 1e8, 1e12]))
    frame = {
        "number": offset + rng.normal(size=n) + y,
        "amount": np.round(rng.lognormal(2 + 0.5 * y, 1.0), 2),
        "whole": np.floor(draw(st.sampled_from([0.0, 1e6])) + rng.poisson(2 + y)).astype(np.float64),
        "name": objects(np.array(["u", "v", "w"])[(y + rng.integers(0, 2, n)) % 3]),
    }
    for name in draw(st.sets(st.sampled_from(sorted(frame)))):
        frame[name][rng.random(n) < 0.2] = np.nan if frame[name].dtype.kind == "f" else None
    return {name: frame[name] for name in draw(st.sets(st.sampled_from(sorted(frame)), min_size=1))}, y


@given(data=st.data())
@settings(max_examples=150, deadline=None)
def test_every_proposed_change_gives_the_class_it_names_with_values_like_those_observed(data: Any) -> None:
    frame, y = data.draw(tables())
    model = NaiveBayesClassifier(
        {name: data.draw(st.sampled_from(DISTRIBUTIONS[:4])) for name in frame if frame[name].dtype.kind == "f"},
        smoothing=data.draw(st.sampled_from([0, 1, "global"])),
        missing=data.draw(st.sampled_from(["ignore", "value"])),
    ).fit(frame, y)
    i = data.draw(st.integers(0, len(y) - 1))
    check(model, {name: column[i : i + 1] for name, column in frame.items()}, frame)


@pytest.mark.parametrize("offset", [0.0, 1e5, 1e6, 1e8, 1e12])
def test_a_change_of_several_numbers_can_be_made_as_shown_however_far_from_0(offset: float) -> None:
    rng = np.random.default_rng(0)
    frame = {f"x{j}": np.r_[offset + rng.normal(0, 1, 30), offset + rng.normal(3, 1, 30)] for j in range(4)}
    model = NaiveBayesClassifier().fit(frame, ["a"] * 30 + ["b"] * 30)
    assert check(model, {name: np.array([offset - 1.0]) for name in frame}, frame)


def test_no_change_is_proposed_where_every_class_would_be_impossible() -> None:
    table = {"x": list("vvvuu"), "z": list("qqqpp"), "t": list("00111")}
    model = NaiveBayesClassifier(smoothing=0).fit(table, list("bbbaa"))
    row = {"x": "v", "z": "q", "t": "1"}
    changes = model.explain([row], interval=None).changes
    for change in changes:
        assert change.posterior == change.posterior
        assert model.predict([{**row, **change.values}]).tolist() == [change.to]


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_a_whole_number_of_a_numeric_column_changes_to_a_whole_number_that_is_not_negative(distribution: str) -> None:
    rng = np.random.default_rng(3)
    frame = {"children": np.r_[rng.poisson(0.4, 60), rng.poisson(3.0, 60)].astype(np.float64)}
    types = {"children": "count"} if distribution == "poisson" else None
    model = NaiveBayesClassifier(distribution, types=types).fit(frame, ["no"] * 60 + ["yes"] * 60)
    for value in (0.0, 1.0, 6.0):
        assert check(model, {"children": np.array([value])}, frame)


def test_a_model_from_pieces_a_file_or_an_engine_proposes_values_like_those_observed(tmp_path: Any) -> None:
    import duckdb
    import pyarrow as pa

    from countwise import load, save

    rng = np.random.default_rng(5)
    frame = {"age": np.r_[rng.integers(18, 40, 50), rng.integers(30, 80, 50)].astype(np.float64)}
    y = np.array(["young"] * 50 + ["old"] * 50)
    whole = NaiveBayesClassifier().fit(frame, y)
    pieces = NaiveBayesClassifier()
    for part in (slice(0, 50), slice(50, 100)):
        pieces.partial_fit({"age": frame["age"][part]}, y[part])
    save(whole, tmp_path / "model.json")
    table = pa.table({"age": frame["age"], "y": y})
    for model in (
        whole,
        pieces,
        load(tmp_path / "model.json"),
        NaiveBayesClassifier().fit(duckdb.from_arrow(table), "y"),
    ):
        assert check(model, {"age": np.array([25.0])}, frame)
