"""Tables cut where they lie: by an engine, or by a query without Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from countwise._typing import Floats
from countwise.attributes import Ordinal
from countwise.schema import Schema
from countwise.sources.choosing import cut
from countwise.sql import range_query
from countwise.terms import Ranges

__all__ = ["CutFrames"]


class CutFrames:
    """What a discretizer can do to a table that is not in memory."""

    schema_: Schema
    edges_: dict[str, Floats]
    attributes_: dict[str, Ordinal]
    encode: str | None
    missing: str

    def _check_fitted(self, *, answers: bool = True) -> None:
        """Refuse to cut before there are cuts."""
        raise NotImplementedError

    def _as_terms(self, encode: str) -> Ranges:
        self._check_fitted()
        labels = {name: tuple(map(str, a.values)) for name, a in self.attributes_.items()}
        return Ranges(tuple(self.schema_), dict(self.edges_), labels, encode, self.missing == "keep")

    def transform_frame(self, X: Any) -> Any:
        """The table with its numbers cut into ranges, where it lies; other columns stay as they are.

        Parameters
        ----------
        X : relation or frame
            DuckDB relation, Polars LazyFrame, Dask or PySpark DataFrame, Ibis table; eager frames too.

        Returns
        -------
        the same kind of frame
            Lazy ones stay lazy. Ranges as labels (plain text), or as `encode` says; a cell that is missing, NaN or
            infinite is null.

        Examples
        --------
        >>> import pandas as pd
        >>> from countwise import Discretizer
        >>> days = pd.DataFrame({"temp": [12.5, 19.0, 31.0], "wind": ["north", "east", "east"]})
        >>> print(Discretizer({"temp": [15.0, 25.0]}).fit(days).transform_frame(days))
               temp   wind
        0     <= 15  north
        1  (15, 25]   east
        2      > 25   east
        """
        return cut(X, self._as_terms(self.encode or "labels"))

    def to_sql(self, table: str, dialect: str = "duckdb", *, keep: Sequence[str] = ()) -> str:
        """A query that cuts the numbers of a table without Python: what `transform` gives.

        Parameters
        ----------
        table : str
            The table; a name with dots is one of a schema.
        dialect : {"duckdb", "postgres", "spark", "sqlite"}, default="duckdb"
            Whose SQL.
        keep : sequence of str, optional
            Other columns of the table to be given as they are, such as the class.

        Returns
        -------
        str

        Examples
        --------
        >>> from countwise import Discretizer
        >>> cutter = Discretizer({"temp": [15.0, 25.0]}).fit({"temp": [12.5, 19.0, 31.0], "wind": ["n", "e", "e"]})
        >>> print(cutter.to_sql("days", "sqlite"))
        SELECT
          CASE WHEN ABS(CAST("temp" AS REAL)) < 1e308 THEN CASE
            WHEN CAST("temp" AS REAL) <= 15e0 THEN '<= 15'
            WHEN CAST("temp" AS REAL) <= 25e0 THEN '(15, 25]'
            ELSE '> 25' END END AS "temp",
          "wind"
        FROM "days"
        """
        keep = [keep] if isinstance(keep, str) else list(keep)
        return range_query(self._as_terms(self.encode or "labels"), table, dialect, keep=keep)
