"""Numbers into ranges: the cuts of each column, what they lose, and the table cut by them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels
from countwise._typing import Floats, Indices
from countwise.base.term import Term
from countwise.base.transformer import TableTransformer
from countwise.cuts import CutReport, CutRule, Cuts, codes_in, labels, rule_of
from countwise.data.attributes import Attribute, Numeric, Ordinal
from countwise.data.columns import refuse_infinity
from countwise.data.derived import AsGiven
from countwise.data.frames import Coded, Column, Frame, is_missing, is_relation, refuse_duplicates
from countwise.data.output import container_of, library_of, rebuilt
from countwise.data.schema import Schema
from countwise.data.table import threads_for
from countwise.data.text import Block
from countwise.distributions import Binned
from countwise.errors import OptionError, RowsRefused, TableError, did_you_mean, listed, warn
from countwise.measures import chance_information, information_of_values, mutual_information
from countwise.scoring.plan import RangeTerm
from countwise.scoring.sql import range_query
from countwise.scoring.tree import cut
from countwise.tallies import Values, shortfall

__all__ = ["Discretizer"]


ENCODINGS = ("labels", "codes", "onehot")


@dataclass(frozen=True, slots=True)
class _Other(Attribute):
    """A column that is left as it is."""

    unknown: bool = False
    kind = "left as it is"

    def encode(self, column: Column, *, strict: bool = False) -> Any:
        """Nothing is counted of it."""
        return np.empty(0)


@dataclass(eq=False, repr=False)
class Discretizer(TableTransformer):
    """Cut numbers into ranges, column by column, and say why and at what cost.

    Parameters
    ----------
    method : str, sequence of float, Binned, or mapping of column to any of these, default="mdl"
        "naive" (each value a range), "equal_width", "equal_frequency", "kmeans" (the optimum),
        "class_contiguous" (wherever the class changes), "min_n" (not before a range holds n of
        one class), "mdl" (Fayyad and Irani: as long as a cut pays for its own description), or
        the inner edges by hand. A mapping names the columns to cut; the others stay as they are.
    n_bins : int or "leave_one_out", default=10
        How many ranges, for equal width, equal frequency and k-means; or the number whose
        leave-one-out likelihood is best.
    n : float, default=6
        For "min_n": how many rows of one class a range must hold.
    merge : {None, "majority", "last"}, optional
        For "min_n": join neighbors with one commonest class, or a last range that never
        reached n.
    encode : {None, "labels", "codes", "onehot"}, optional
        What `transform` gives: ordered labels such as ``(70.5, 77.5]``, the number of the range,
        or a column for each range. By default labels in a frame, codes in an array.
    missing : {"keep", "zeros"}, default="keep"
        One-hot: a missing cell is missing in each of its columns, or 0 in each.
    columns : sequence of str, optional
        Which columns to cut; by default all that are numbers.
    types : mapping of column to kind, str or Schema, optional
        Declared column types; others follow from dtypes.

    Attributes
    ----------
    edges_ : dict
        The inner edges of each column; ranges are (lo, hi].
    n_bins_ : dict
        The number of ranges of each column.
    cuts_ : dict
        Edges with the reason for each.
    attributes_ : dict
        The ordinal attribute that each column becomes.
    tallies_ : dict
        All that was learned: the values of each class.

    Examples
    --------
    >>> from countwise import Discretizer, samples
    >>> rain = samples.load("rain")
    >>> cutter = Discretizer("class_contiguous").fit(rain.X, rain.y)
    >>> cutter.edges_["temp"].round(2).tolist()
    [18.95, 19.6, 21.9]
    >>> cutter.transform(rain.X)["temp"].tolist()[:3]
    ['> 21.9', '<= 18.95', '(18.95, 19.6]']
    """

    method: Any = "mdl"
    _: KW_ONLY
    n_bins: Any = 10
    n: Any = 6
    merge: str | None = None
    encode: str | None = None
    missing: str = "keep"
    columns: Sequence[str] | None = None
    types: Any = None

    cuts_: dict[str, Cuts] = field(init=False)

    # -- what is counted ---------------------------------------------------------

    def _how(self, spec: Any) -> CutRule:
        if isinstance(spec, Mapping):
            settings = {"method": "mdl", "n_bins": self.n_bins, "n": self.n, "merge": self.merge, **spec}
            if "n_bins" in spec and settings["method"] == "mdl":
                raise OptionError("n_bins has no meaning for 'mdl'.", hint="name a method: 'equal_frequency'.")
            odd = sorted(set(settings) - {"method", "n_bins", "n", "merge"})
            if odd:
                raise OptionError(f"A rule has no setting {odd[0]!r}.", hint="it has method, n_bins, n and merge.")
            return CutRule(**settings)
        return rule_of(spec, self.n_bins, self.n, self.merge)

    def _rules(self, frame: Frame | None = None) -> dict[str, CutRule]:
        """The rule of each column that is named; under the empty name that of all others."""
        per_column = isinstance(self.method, Mapping) and "method" not in self.method
        rules = {str(k): self._how(v) for k, v in self.method.items()} if per_column else {"": self._how(self.method)}
        if not rules:
            raise OptionError("method names no column and no rule.", hint="method='mdl' cuts all columns of numbers.")
        if per_column and self.columns is not None:
            raise OptionError(
                f"A method for each column names what is cut; columns={listed(self._chosen())} says it again.",
                hint="leave `columns` out.",
            )
        for name in [*(k for k in rules if k), *self._chosen()]:
            if frame is not None and name not in frame.columns:
                raise OptionError(
                    f"The table has no column {name!r} to cut.",
                    hint=did_you_mean(name, frame.columns) or f"it has {listed(frame.columns)}.",
                )
        return rules

    def _chosen(self) -> list[str]:
        return [self.columns] if isinstance(self.columns, str) else list(self.columns or ())

    def _needs_target(self) -> bool:
        return any(how.supervised for how in self._rules().values())

    def _infer_schema(self, frame: Frame) -> Schema:
        if self.encode not in (None, *ENCODINGS):
            hint = "'codes' gives whole numbers." if self.encode == "ordinal" else f"give one of {listed(ENCODINGS)}."
            raise OptionError(f"encode={self.encode!r} is unknown.", hint=hint)
        if self.missing not in ("keep", "zeros"):
            raise OptionError(f"missing={self.missing!r} is unknown.", hint="give 'keep' or 'zeros'.")
        rules = self._rules(frame)
        schema = Schema.kinds(frame, self.types)
        for a in schema.attributes:
            if isinstance(a, Block):  # a block within a mapping of columns
                raise TableError(
                    f"{a.name!r} is a sparse block and cannot be cut.", hint="give its columns as columns."
                )
        wanted = {*self._chosen(), *(name for name in rules if name)}
        return Schema(self._kind(a, frame.columns[a.name], wanted) for a in schema.attributes)

    def _kind(self, a: Attribute, column: Column, wanted: set[str]) -> Attribute:
        if isinstance(a, Numeric):
            return a if a.name in wanted or not wanted else _Other(a.name)
        cells = column if isinstance(column, np.ndarray) and column.dtype.kind == "O" else None
        empty = cells is not None and all(map(is_missing, cells))
        some = cells is not None and any(isinstance(cell, int | float | np.number) for cell in cells)
        if a.name in wanted and not (empty or some):  # of some numbers and a name the error is about the name
            raise OptionError(
                f"{a.name!r} is {a.kind}; only numbers are cut into ranges.",
                hint=f"types={{{a.name!r}: 'numeric'}} reads it as numbers.",
            )
        return Numeric(a.name) if a.name in wanted else _Other(a.name, unknown=empty and not wanted)

    def _is_unknown(self, a: Any) -> bool:
        return isinstance(a, _Other) and a.unknown

    def _terms(self, schema: Schema, target: str) -> list[Term]:
        rules = self._rules()
        parts = []
        for a in schema.attributes:
            if isinstance(a, Numeric):
                how = rules.get(a.name) or rules[""]
                parts.append(Term(AsGiven(a), Binned(how.method, how.n_bins, how.n, how.merge)))
        return parts

    def _estimate(self) -> None:
        parts = self._terms(self.schema_, self.target_.name)
        found = _kernels.over_items(
            parts, lambda part: part.distribution.how.cut(self.tallies_[part.key]), threads_for(self.n_rows_)
        )
        self.cuts_ = {part.key: cuts for part, cuts in zip(parts, found, strict=True)}
        self.how_ = {part.key: part.distribution.how for part in parts}
        self._release()
        self.edges_ = {name: cuts.edges for name, cuts in self.cuts_.items()}
        self.n_bins_ = {name: len(edges) + 1 for name, edges in self.edges_.items()}
        self.attributes_ = {name: Ordinal(name, labels(edges)) for name, edges in self.edges_.items()}
        refuse_duplicates(self.get_feature_names_out().tolist())
        lost = [name for name, edges in self.edges_.items() if len(edges) == 0]
        if lost:
            warn(
                f"{listed(lost)} {'is' if len(lost) == 1 else 'are'} left with one range, which tells nothing. "
                f"Hint: report({lost[0]!r}) says why."
            )

    # -- the table cut ---------------------------------------------------------------

    def _learn(self, X: Any, y: Any, sample_weight: Any, *, allow_incomplete: bool = False) -> Self:
        looks = [how.method for how in self._rules().values() if how.supervised]
        if y is None and looks:
            raise TableError(
                f"{looks[0]!r} looks at the class and requires y to be passed, but the target y is None.",
                hint="'equal_frequency', 'equal_width', 'kmeans', 'naive' and edges by hand do not.",
            )
        return super()._learn(X, y, sample_weight, allow_incomplete=allow_incomplete)

    def transform(self, X: Any) -> Any:
        """Put each number into its range; missing stays missing.

        Numbers outside the values of training fall in the first or the last range, with a warning
        that says how many.
        """
        if is_relation(X):
            raise RowsRefused(
                "The table is one that an engine holds, not rows.", hint="transform_frame cuts it where it lies."
            )
        X, frame = self._matched(X)
        codes = self._codes(frame)
        container = container_of(X, self._output_wanted())
        encode = self.encode or ("codes" if library_of(X) == "array" else "labels")
        columns: dict[str, Column | None] = {}
        for name in self.schema_:
            columns.update(self._encoded(name, codes[name], encode) if name in codes else {name: None})
        return rebuilt(X, frame, columns, container)

    def _codes(self, frame: Frame) -> dict[str, NDArray[Any]]:
        cut: list[Numeric] = [a for a in self.schema_.attributes if isinstance(a, Numeric)]
        numbers = {a.name: a.encode(frame.columns[a.name]) for a in cut}
        refuse_infinity(numbers)
        found = _kernels.over_items(
            list(numbers.items()), lambda item: self._ranges(*item), threads_for(frame.n_rows)
        )
        outside = {name: n for name, (_, n) in zip(numbers, found, strict=True) if n}
        if outside:
            counts = ", ".join(f"{n} of {name!r}" for name, n in outside.items())
            warn(f"Cells outside the values of training fall in the first or last range: {counts}.")
        return {name: codes for name, (codes, _) in zip(numbers, found, strict=True)}

    def _ranges(self, name: str, column: NDArray[Any]) -> tuple[NDArray[Any], int]:
        edges, (low, high) = self.edges_[name], self.tallies_[name].bounds
        codes = codes_in(edges, column)
        if not isinstance(self.how_[name].method, str):
            return codes, 0  # whoever gives the edges by hand means the outer ranges to be open
        if np.isnan(low):
            return codes, int(np.count_nonzero(codes <= len(edges)))
        with np.errstate(invalid="ignore"):
            outside = int(np.count_nonzero(column < low)) + int(np.count_nonzero(column > high))
        return codes, outside

    def _encoded(self, name: str, codes: NDArray[Any], encode: str) -> dict[str, Column | None]:
        domain = self.attributes_[name].values
        if encode == "labels":
            return {name: Coded(codes, domain, declared=True, ordered=True)}
        missing = codes >= len(domain)
        if encode == "codes":
            return {name: np.where(missing, np.nan, codes.astype(np.float64))}
        columns: dict[str, Column | None] = {}
        for code, label in enumerate(domain):
            cells = (codes == code).astype(np.float64)
            columns[f"{name} {label}"] = np.where(missing, np.nan, cells) if self.missing == "keep" else cells
        return columns

    def _tails(self) -> dict[str, list[str]]:
        spread = self.edges_ if self.encode == "onehot" else {}
        return {
            a: [f" {label}" for label in self.attributes_[a].values] if a in spread else [""] for a in self.schema_
        }

    def inverse_transform(self, X: Any) -> Any:
        """The middle of each range; the outer ranges end at the least and greatest value of training."""
        X, frame = self._converted(X)
        waiting = list(frame.columns)
        columns: dict[str, Column | None] = {}
        for name, tails in self._tails().items():
            own, waiting = waiting[: len(tails)], waiting[len(tails) :]
            if name not in self.edges_:
                columns[own[0] if frame.named else name] = None
                continue
            codes = self._back([frame.columns[column] for column in own], name)
            columns[name] = np.append(self.centers(name), np.nan)[codes]
        return rebuilt(X, frame, columns, container_of(X, self._output_wanted()))

    def _back(self, columns: list[Column], name: str) -> Indices:
        """Codes of labels, of codes as numbers, or of one column a range; missing is behind the last."""
        domain = self.attributes_[name]
        k = len(domain.values)
        if self.encode == "onehot":
            cells = np.stack([np.asarray(c, dtype=np.float64) for c in columns], axis=1)
            gone = np.isnan(cells).any(axis=1) | ~cells.any(axis=1)
            return np.where(gone, k, np.argmax(np.nan_to_num(cells), axis=1))
        column = columns[0]
        if isinstance(column, Coded) or (
            column.dtype.kind in "OUS" and not all(isinstance(c, int | float | np.number | None) for c in column)
        ):  # labels, not codes
            return domain.encode(column, strict=True).astype(np.int64)
        cells = np.asarray(column, dtype=np.float64)
        wrong = (cells < 0) | (cells >= k) | ((cells != np.floor(cells)) & ~np.isnan(cells))
        if wrong.any():
            raise TableError(f"{name!r} is {cells[np.argmax(wrong)]:g}; its ranges have the codes 0 to {k - 1}.")
        return np.where(np.isnan(cells), k, cells).astype(np.int64)

    def centers(self, name: str) -> Floats:
        """The middle of each range of a column.

        Parameters
        ----------
        name : str
            The column.

        Returns
        -------
        ndarray
        """
        (low, high), edges = self._values_of(name).bounds, self.edges_[name]
        if len(edges) == 0:
            return _middles(np.array([low, high]))
        step = float(np.diff(edges).mean()) if len(edges) > 1 else 1.0
        low = low if low <= edges[0] else edges[0] - step  # a range that no value of training lies in
        high = high if high > edges[-1] else edges[-1] + step
        return _middles(np.array([low, *edges, high]))

    def _range_term(self) -> RangeTerm:
        self._check_fitted()
        names = {name: tuple(map(str, a.values)) for name, a in self.attributes_.items()}
        encode = self.encode or "labels"
        return RangeTerm(tuple(self.schema_), dict(self.edges_), names, encode, self.missing == "keep")

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
        return cut(X, self._range_term())

    def to_sql(self, table: str, dialect: str = "duckdb", *, keep: Sequence[str] = ()) -> str:
        """A query that cuts the numbers of a table without Python: what `transform` gives.

        Parameters
        ----------
        table : str
            Its name, with dots if it is in a schema.
        dialect : {"duckdb", "postgres", "spark", "sqlite"}, default="duckdb"
            Whose SQL to write.
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
        return range_query(self._range_term(), table, dialect, keep=keep)

    # -- what was done -------------------------------------------------------------------

    def _values_of(self, name: str) -> Values:
        if name in self.schema_ and name not in self.edges_:
            raise OptionError(f"{name!r} was not cut: it is not a column of numbers, or not one of those named.")
        if name not in self.edges_:
            raise OptionError(
                f"There is no column {name!r}.",
                hint=did_you_mean(name, self.schema_) or f"cut were {listed(self.edges_)}.",
            )
        return self.tallies_[name]

    def report(self, name: str) -> CutReport:
        """What was done to a column, and what it cost.

        Parameters
        ----------
        name : str
            A column that was cut.

        Returns
        -------
        CutReport
            The cuts, why each was made, the counts of each class in each range, and the information
            on the class before and after. It prints as a table.
        """
        self._check_fitted()
        tally = self._values_of(name)
        counts = tally.counts_in(self.edges_[name])
        total = float(self.tallies_[self.target_.name].table.sum())
        known = len(self.target_.values) > 1
        return CutReport(
            name=name,
            target=self.target_.name,
            how=str(self.how_[name]),
            cuts=self.cuts_[name],
            classes=tuple(self.target_.values) if known else ("rows",),
            counts=counts,
            n_values=len(tally.pooled[0]),
            missing=shortfall(total, float(counts.sum())),
            before=information_of_values(tally) if known else float("nan"),
            after=mutual_information(counts.T) if known else float("nan"),
            chance=chance_information(tally.pooled[1], tally.n) if known else float("nan"),
        )


def _middles(ends: Floats) -> Floats:
    """The middle of each range; never its lower end, which belongs to the range below."""
    middles = ends[:-1] + np.diff(ends) / 2
    return np.where((middles > ends[:-1]) | (np.diff(ends) == 0), middles, ends[1:])
