"""The law of engines: whatever the table, an engine counts what memory counts and answers what memory answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from countwise import DiscriminantClassifier, NaiveBayesClassifier
from countwise.errors import TooFewRows

from .strategies import (
    DISTRIBUTIONS,
    Law,
    Rows,
    assert_posteriors_agree,
    assert_same_answers,
    assert_same_tallies,
    examples,
    joint_of,
    no_near_tie,
    posterior_of,
    rows_of,
    splits,
    twice,
    zeros_allowed,
)

pl = pytest.importorskip("polars", reason="Polars is not installed")
duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")

pytestmark = pytest.mark.filterwarnings("ignore::countwise.errors.DataWarning")
IN_ENGINES = {
    **{name: law for name, law in DISTRIBUTIONS.items() if "text" not in name and name != "mixed"},
    "mixed": Law({name: kind for name, kind in DISTRIBUTIONS["mixed"].columns.items() if name != "mail"}),
    "categorical, raw": twice("nominal", "categorical", smoothing=0),
    "missing is a value": twice("nominal", "categorical", missing="value"),
    "missing numbers are a value": twice("number", "gaussian", missing="value"),
}
every_law = pytest.mark.parametrize("law", IN_ENGINES)
every_engine = pytest.mark.parametrize("engine", ["polars", "duckdb"])


def held(rows: Rows, engine: str) -> Any:
    """The rows where an engine holds them; NaN stays NaN, which is not null there."""
    columns = {name: pl.Series(name, cells.tolist(), strict=False) for name, cells in rows.frame.items()}
    for name, cells in rows.frame.items():
        columns[name] = columns[name].cast(pl.Float64 if cells.dtype.kind == "f" else pl.String)
    frame = pl.DataFrame({**columns, "y": rows.y.tolist(), "w": rows.weights})
    if engine == "polars":
        return frame.lazy()
    table = frame.to_arrow()
    return duckdb.connect().from_arrow(table)


@every_engine
@every_law
@examples(3)
@given(st.data())
def test_an_engine_counts_what_memory_counts(law, engine, data):
    law = IN_ENGINES[law]
    rows = data.draw(rows_of(law, min_weight=0))
    if not rows.weights.any():
        return
    memory = rows.fit(law.model(), weighted=True)
    ours = law.model().fit(held(rows, engine), "y", sample_weight="w")
    assert (ours.n_rows_, ours.n_left_out_) == (memory.n_rows_, memory.n_left_out_)
    assert ours.schema_ == memory.schema_
    renamed = {("y" if k == memory.target_.name else k): t for k, t in memory.tallies_.items()}
    assert [*ours.tallies_] == [*renamed]
    if no_near_tie(memory):
        assert_same_answers(ours, memory, rows.frame)


@every_law
@examples(3)
@given(st.data())
def test_pieces_from_an_engine_add_up(law, data):
    law, engine = IN_ENGINES[law], "polars"
    rows = data.draw(rows_of(law))
    whole, parts = law.model().fit(held(rows, engine), "y", sample_weight="w"), law.model()
    for piece in data.draw(splits(len(rows))):
        parts.partial_fit(held(rows.take(piece), engine), "y", sample_weight="w")
    assert_same_tallies(parts.tallies_, whole.tallies_)


@every_engine
@examples(6)
@given(st.data())
def test_discriminants_of_an_engine_are_those_of_memory(engine, data):
    law = Law({"a": ("number", None), "b": ("number", None), "k": ("nominal", None)})
    rows = data.draw(rows_of(law, min_rows=6, gaps=False))
    how = {"covariance": "shared", "shrinkage": 0.5, "nominal": "onehot"}
    try:
        memory = DiscriminantClassifier(**how).fit(rows.frame, rows.y, sample_weight=rows.weights)
    except TooFewRows:
        with pytest.raises(TooFewRows):
            DiscriminantClassifier(**how).fit(held(rows, engine), "y", sample_weight="w")
        return
    ours = DiscriminantClassifier(**how).fit(held(rows, engine), "y", sample_weight="w")
    joint = joint_of(memory, rows.frame)
    assert_posteriors_agree(posterior_of(ours, rows.frame), posterior_of(memory, rows.frame), joint, 1e-9)


@every_engine
@examples(3)
@given(st.data())
def test_forgetting_rows_of_an_engine_is_never_having_met_them(engine, data):
    law = IN_ENGINES["mixed"]
    rows = data.draw(rows_of(law, min_rows=4))
    cut = data.draw(st.integers(1, len(rows) - 1))
    kept, gone = rows.take(np.arange(cut)), rows.take(np.arange(cut, len(rows)))
    model = law.model().fit(held(rows, engine), "y", sample_weight="w")
    model.forget(held(gone, engine), "y", sample_weight="w")
    again = law.model().fit(held(kept, engine), "y", sample_weight="w")
    assert model.classes_.tolist() == again.classes_.tolist()
    for name, tally in again.tallies_.items():
        if hasattr(tally, "table"):
            np.testing.assert_array_equal(model.tallies_[name].table, tally.table)


@every_engine
@every_law
@examples(3)
@given(st.data())
def test_rows_are_answered_where_they_lie(law, engine, data):
    law = IN_ENGINES[law]
    if (
        any(kind in str(c) for _, c in law.columns.values() for kind in ("ernel", "auto", "multinomial"))
        or law.settings.get("smoothing") == 0
    ):
        return  # laws that no engine computes
    rows, asked = data.draw(rows_of(law)), data.draw(rows_of(law))
    model: NaiveBayesClassifier = rows.fit(law.model())
    with zeros_allowed():
        found = model.predict_frame(held(asked, engine))
    found = found.collect() if engine == "polars" else found.pl()
    shares = np.stack([found[f"P({c})"].to_numpy() for c in model.classes_], axis=1)
    assert_posteriors_agree(shares, posterior_of(model, asked.frame), joint_of(model, asked.frame), 1e-12)
