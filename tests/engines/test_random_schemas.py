"""Whatever the names, types and values of a table, a query predicts what the model predicts, or is refused.

`COUNTWISE_LAWS=20 make test ARGS=tests/engines/test_random_schemas.py` tries twenty times as many schemas.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from countwise import TreeRegressor
from countwise.errors import CountwiseError, OptionError
from countwise.scoring.sql.dialects import Dialect

from ..strategies.schemas import Case, case
from .databases import DuckDB, Spark, SQLite
from .quiet import QUIET

pytestmark = QUIET
TIMES = int(os.environ.get("COUNTWISE_LAWS", "1"))
SCHEMAS = {"duckdb": 50, "sqlite": 50, "postgres": 25, "spark": 6}


@dataclass
class Tried:
    """How many schemas were tried, and the largest difference of a probability."""

    counts: Counter[str] = field(default_factory=Counter)
    worst: float = 0.0

    def add(self, seed: int, database: Any) -> None:
        try:
            found = case(seed)
        except CountwiseError:
            self.counts["not learned"] += 1
            return
        table = "some 'table\"" if database.dialect != "spark" else "some_table"
        try:
            query = found.model.to_sql(table, database.dialect)
        except OptionError as error:
            self.counts["refused" if error.hint else "refused without a hint"] += 1
            return
        folded = {Dialect(database.dialect).folded(name) for name in found.stored.column_names}
        if len(folded) < len(found.stored.column_names):
            self.counts["no such table"] += 1
            return
        rows = database.rows(found.stored, table, query)
        self.worst = max(self.worst, difference(found, rows, Dialect(database.dialect)))
        self.counts["answered"] += 1


def difference(found: Case, rows: list[dict[str, Any]], dialect: Dialect) -> float:
    """Return the largest difference of a probability or of a predicted number; the classes must be equal."""
    model = found.model
    name = f"predicted {found.target}"
    name = dialect.folded(name) if dialect.name == "postgres" else name  # which truncates it
    predicted = model.predict(found.memory).tolist()
    assert len(rows) == len(predicted)
    if isinstance(model, TreeRegressor):
        return float(np.abs(np.array([row[name] for row in rows]) - predicted).max())
    with np.errstate(all="ignore"):
        want = model.predict_proba(found.memory)
    shares = [f"P({c})" for c in model.classes_.tolist()]
    got = np.array([[np.nan if row[s] is None else row[s] for s in shares] for row in rows], dtype=float)
    abstains = np.isnan(got).any(axis=1)
    partial = hasattr(model, "scoring") and not model.scoring().whole
    assert partial or not (abstains & ~np.isnan(want).any(axis=1)).any()
    for i, row in enumerate(rows):
        top = np.sort(want[i])[::-1]
        if not abstains[i] and top[0] - top[1] > 1e-9:
            assert row[name] == predicted[i], (found.seed, i, row[name], predicted[i])
    return float(np.nan_to_num(np.abs(got - want)).max())


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_query_predicts_what_the_model_predicts_whatever_the_schema(name, request):
    databases = {"duckdb": DuckDB, "sqlite": SQLite}
    if name in databases:
        database = databases[name]()
    else:
        given = request.getfixturevalue(name)
        database = Spark(given) if name == "spark" else given
    tried = Tried()
    for seed in range(SCHEMAS[name] * TIMES):
        tried.add(seed, database)
        assert tried.worst < 1e-9, (seed, tried)
    assert not tried.counts["refused without a hint"]
    assert tried.counts["answered"] > 0.7 * SCHEMAS[name] * TIMES, tried
