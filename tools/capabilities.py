"""Try every learner on every task, and write the table of what each can do to docs/reference/capabilities.md.

python tools/capabilities.py            print the table
python tools/capabilities.py --write    also write it to the page
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import countwise as cw
from countwise import samples
from countwise.errors import CountwiseError
from countwise.registry import KINDS, class_of

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "capabilities.md"
START, END = "<!-- table: tools/capabilities.py --write -->", "<!-- end of table -->"
REFUSALS = (CountwiseError, AttributeError)  # any other error is a defect

WEATHER, TENNIS, MAIL = (samples.load(name) for name in ("weather", "tennis", "mail"))
NUMBERS = {name: WEATHER.frame[name] for name in ("temperature", "humidity")}


class Trial:
    """One learner, fitted to a table that it accepts: nominal and numeric columns, or numbers alone."""

    def __init__(self, name: str) -> None:
        self.name, self.cls = name, class_of(KINDS[name])
        self.numeric = name in ("RegressionTree", "NeighborsRegression")
        self.density = name == "ParzenDensity"
        self.X = WEATHER.X
        self.mixed = works(lambda: self.fit())
        if not self.mixed:
            self.X = NUMBERS
        self.model = self.fit()

    def y(self, X: Any) -> Any:
        """Return the target of a learner; None for a density or a network."""
        if self.density or self.name == "Network":
            return None
        n = len(next(iter(X.values())))
        return np.arange(n, dtype=float) % 5 if self.numeric else np.resize(WEATHER.y, n)

    def fit(self, X: Any = None, **settings: Any) -> Any:
        """Fit a new learner."""
        X = self.X if X is None else X
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self.cls().fit(X, self.y(X), **settings)

    def with_missing(self) -> Any:
        """Return the table with a missing value in each column."""
        table = {}
        for j, (name, column) in enumerate(self.X.items()):
            cells = np.array(column, dtype=object)
            cells[j] = None
            table[name] = cells
        return table

    def relation(self, X: Any) -> Any:
        """Return a table in DuckDB, with the target."""
        import duckdb
        import pandas as pd

        y = self.y(X)
        return duckdb.from_df(pd.DataFrame({**X, **({} if y is None else {"y": y})}))

    def mixes(self) -> None:
        """Fit to nominal and numeric columns."""
        self.fit(WEATHER.X)

    def in_engine(self) -> None:
        """Fit in DuckDB, to nominal columns or to numbers."""
        for X in (TENNIS.X, NUMBERS):
            if works(lambda X=X: self.cls().fit(self.relation(X), None if self.y(X) is None else "y")):
                return
        raise CountwiseError("neither")

    def weighted(self) -> None:
        """Check that rows of weight 2 count as two rows."""
        model = self.fit(sample_weight=np.full(14, 2))
        counts = getattr(model, "class_count_", None)
        assert counts is None or counts.sum() == 28

    def scored_in_engine(self) -> None:
        """Predict in DuckDB."""
        self.model.predict_frame(self.relation(self.X)).fetchall()

    def loaded(self) -> None:
        """Save and load the model."""
        with tempfile.TemporaryDirectory() as folder:
            cw.save(self.model, Path(folder) / "m.json")
            cw.load(Path(folder) / "m.json").summary()


def works(task: Callable[[], Any]) -> bool:
    """Return whether a task is done, not refused."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            task()
        except REFUSALS:
            return False
        except TypeError as error:
            if "unsupported operand" in str(error) or "unexpected keyword argument" in str(error):
                return False
            raise
    return True


TASKS: dict[str, Callable[[Trial], Any]] = {
    "nominal and numeric columns": Trial.mixes,
    "text columns": lambda t: t.cls(types={"text": "text"}).fit({"text": MAIL.X["text"]}, t.y(MAIL.X)),
    "missing values": lambda t: t.fit(t.with_missing()),
    "weights": Trial.weighted,
    "probabilities": lambda t: t.model.predict_proba(t.X),
    "`explain`": lambda t: t.model.explain(next(iter(t.X))) if t.name == "Network" else t.model.explain(t.X),
    "`explain(rows=)`": lambda t: t.model.explain(t.X, rows=(t.X, t.y(t.X))),
    "`counterfactuals`": lambda t: t.model.counterfactuals(t.X),
    "`portrait`": lambda t: t.model.portrait("no"),
    "`sample`": lambda t: t.model.sample(3),
    "`predict_interval`": lambda t: t.model.predict_interval(t.X, draws=20),
    "`tables`, `write_tables`": lambda t: t.model.tables(),
    "`partial_fit`": lambda t: t.cls().partial_fit(t.X, t.y(t.X)).partial_fit(t.X, t.y(t.X)),
    "`forget`": lambda t: t.fit({n: np.tile(np.asarray(c), 2) for n, c in t.X.items()}).forget(t.X, t.y(t.X)),
    "merge with `+`": lambda t: t.model + t.fit(),
    "fit in an engine": Trial.in_engine,
    "predict in an engine": Trial.scored_in_engine,
    "SQL": lambda t: t.model.to_sql("days"),
    "model file": Trial.loaded,
}


def answers(trial: Trial) -> dict[str, bool]:
    """Return which tasks a learner does."""
    return {task: works(partial(do, trial)) for task, do in TASKS.items()}


def table(found: dict[str, dict[str, bool]]) -> str:
    """Return two tables in Markdown, each with half of the learners: a row for each task, a column a learner."""
    names = list(found)
    return "\n\n".join(
        _half({n: found[n] for n in half}) for half in (names[: len(names) // 2], names[len(names) // 2 :])
    )


def _half(found: dict[str, dict[str, bool]]) -> str:
    short = [name if "Network" in name else name.removesuffix("Classifier") for name in found]
    head = ["| |" + "|".join(f" {name} " for name in short) + "|", "|---" * (len(found) + 1) + "|"]
    rows = [f"| {task} |" + "|".join(" ✓ " if found[n][task] else " · " for n in found) + "|" for task in TASKS]
    return "\n".join([*head, *rows])


def main(arguments: list[str]) -> int:
    """Print the table, and write it to the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args(arguments)
    text = table({KINDS[name].name: answers(Trial(name)) for name in KINDS})
    print(text)
    if given.write:
        page = PAGE.read_text(encoding="utf-8")
        before, after = page.split(START)[0], page.split(END)[1]
        PAGE.write_text(f"{before}{START}\n\n{text}\n\n{END}{after}", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
