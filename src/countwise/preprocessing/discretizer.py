"""Discretizer: the bins of numeric columns, a report on them, and the discretized table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels
from countwise._typing import Floats, Indices
from countwise.base.term import Term
from countwise.base.transformer import TableTransformer
from countwise.cuts import CutReport, CutRule, Cuts, rule_of, settings_of
from countwise.data.attributes import Attribute, Numeric, Ordinal
from countwise.data.columns import refuse_infinity
from countwise.data.derived import AsGiven
from countwise.data.frames import Coded, Column, Frame, is_missing, is_relation, missing_columns, refuse_duplicates
from countwise.data.output import container_of, library_of, rebuilt
from countwise.data.schema import Schema
from countwise.data.table import threads_for
from countwise.data.text import Block
from countwise.distributions import Binned
from countwise.engines.execute import executed
from countwise.errors import OptionError, RowsRefused, TableError, check_settings, did_you_mean, listed, warn
from countwise.measures import chance_information, information_of_values, mutual_information
from countwise.preprocessing.working import discretization_working
from countwise.scoring.plan import RangeTerm, inputs_of
from countwise.scoring.sql import range_query
from countwise.scoring.tree import cut
from countwise.tallies import Values, shortfall
from countwise.working import Account

__all__ = ["Discretizer"]


ENCODINGS = ("labels", "codes", "onehot")


@dataclass(frozen=True, slots=True)
class _Other(Attribute):
    """A column that is passed through unchanged."""

    unknown: bool = False
    kind = "passed through"

    def encode(self, column: Column, *, strict: bool = False) -> Any:
        """Return nothing: the column is not counted."""
        return np.empty(0)


@dataclass(eq=False, repr=False)
class Discretizer(TableTransformer):
    """Discretize numeric columns into bins.

    Each column is discretized separately. `report` shows the bins, the reason for each cut point, and how much mutual
    information with the class is lost.

    Parameters
    ----------
    method : str, sequence of float, Binned, CutRule or mapping, default='mdl'
        The discretization method. Unsupervised methods are 'naive' (a bin for each value; any other number is
        unseen and becomes missing), 'equal_width', 'equal_frequency', 'kmeans' (the global optimum) and 'lloyd'
        (k-means from random centers, see `init`). Supervised methods, which need y, are 'class_contiguous' (a cut
        point wherever the class changes), 'min_n' (the same, but each bin must hold n rows of one class) and 'mdl'
        (Fayyad & Irani 1993: a cut point is accepted if its information gain exceeds the cost of its
        description). A sequence gives the cut points themselves. A mapping gives the method of each named
        column; the other columns are passed through.
    n_bins : int or 'leave_one_out', default=10
        The number of bins for 'equal_width', 'equal_frequency', 'kmeans' and 'lloyd'. 'leave_one_out' chooses
        the number from 1 to 50 with the best leave-one-out likelihood.
    n : float, default=6
        The number of rows of one class that a bin must hold, for 'min_n'.
    merge : {None, 'majority', 'last'}, default=None
        The bins to merge afterwards, for 'min_n'. 'majority' merges adjacent bins with the same most frequent
        class. 'last' merges the last bin into the one before if it never reaches n. None merges none.
    min_size : float or None, default=None
        The number of rows that a bin must hold, for 'class_contiguous': a bin is merged with the next ones until
        it has so many rows, and a last bin with fewer is merged with the one before. None merges none.
    labels : sequence of str, mapping of column to sequence of str, or None, default=None
        The names of the bins, such as ``("low", "medium", "high")``, instead of their ranges. Their number must
        be the number of bins.
    init : 'random' or sequence of float, default='random'
        The first centers for 'lloyd': 'random' draws them from the values of the column. A sequence gives the
        centers themselves, and so the number of bins.
    n_init : int, default=10
        The number of random starts of 'lloyd'. The one with the smallest within-bin sum of squares is kept.
    random_state : int, default=0
        The seed of the random starts of 'lloyd'.
    encode : {None, 'labels', 'codes', 'onehot'}, default=None
        The output of `transform`: 'labels' are ordered labels such as ``(70.5, 77.5]``, 'codes' the index of the bin,
        and 'onehot' a column of 0 and 1 for each bin. None returns labels for a DataFrame or mapping and codes for an
        array.
    missing : {'keep', 'zeros'}, default='keep'
        The one-hot columns of a missing value: 'keep' makes them missing, 'zeros' sets them to 0.
    columns : sequence of str or None, default=None
        The columns to discretize. None selects all numeric columns.
    types : mapping, str, Schema or None, default=None
        The types of columns, such as 'numeric'. By default the type follows from the dtype.

    Attributes
    ----------
    edges_ : dict of str to ndarray
        The cut points of each column; the bins are (lo, hi].
    n_bins_ : dict of str to int
        The number of bins of each column.
    cuts_ : dict of str to Cuts
        The cut points of each column, with the reason for each.
    how_ : dict of str to CutRule
        The discretization method of each column.
    attributes_ : dict of str to Ordinal
        The ordinal attribute that replaces each column.
    tallies_ : dict
        All that was learned: the values of each class.

    References
    ----------
    Fayyad, U. M. & Irani, K. B. (1993). Multi-interval discretization of continuous-valued attributes for
    classification learning. IJCAI, 1022-1027.

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
    min_size: Any = None
    labels: Any = None
    init: Any = "random"
    n_init: Any = 10
    random_state: Any = 0
    encode: str | None = None
    missing: str = "keep"
    columns: Sequence[str] | None = None
    types: Any = None

    cuts_: dict[str, Cuts] = field(init=False)

    # -- schema and terms ----------------------------------------------------------

    def _how(self, spec: Any) -> CutRule:
        own = settings_of(self)
        del own["method"]
        if isinstance(self.labels, Mapping):  # of single columns, see `_terms`
            own["labels"] = None
        if isinstance(spec, Mapping):
            settings = {"method": "mdl", **own, **spec}
            if "n_bins" in spec and settings["method"] == "mdl":
                raise OptionError("'mdl' does not use n_bins.", hint="add a method, for example 'equal_frequency'.")
            odd = sorted(set(spec) - {"method", *own})
            if odd:
                raise OptionError(
                    f"A method has no setting {odd[0]!r}.", hint=f"use some of {listed(['method', *own])}."
                )
            return CutRule(**settings)
        rule = rule_of(spec, **own)
        return replace(rule, labels=own["labels"]) if rule.labels is None and own["labels"] is not None else rule

    def _rules(self, frame: Frame | None = None) -> dict[str, CutRule]:
        """Return the rule of each named column, and under the empty name that of all other columns."""
        per_column = isinstance(self.method, Mapping) and "method" not in self.method
        rules = {str(k): self._how(v) for k, v in self.method.items()} if per_column else {"": self._how(self.method)}
        if not rules:
            raise OptionError("method is empty.", hint="use method='mdl' to discretize all numeric columns.")
        if per_column and self.columns is not None:
            raise OptionError(
                "columns cannot be combined with a mapping of methods, which selects the columns itself; "
                f"columns is {listed(self._chosen())}.",
                hint="omit `columns`.",
            )
        named = self.labels if isinstance(self.labels, Mapping) else ()
        for name in [*(k for k in rules if k), *self._chosen(), *named]:
            if frame is not None and name not in frame.columns:
                raise OptionError(
                    f"Column {name!r} is to be discretized, but the table has no such column.",
                    hint=did_you_mean(name, frame.columns) or f"use one of {listed(frame.columns)}.",
                )
        return rules

    def _chosen(self) -> list[str]:
        names = [self.columns] if isinstance(self.columns, str) else () if self.columns is None else self.columns
        if not isinstance(names, Iterable) or not all(isinstance(name, str) for name in names):
            raise OptionError(f"columns must be the names of columns, not {self.columns!r}.")
        return list(names)

    def _needs_target(self) -> bool:
        return any(how.supervised for how in self._rules().values())

    def _infer_schema(self, frame: Frame) -> Schema:
        if isinstance(self.encode, str) and self.encode == "ordinal":
            raise OptionError("encode must not be 'ordinal'.", hint="use 'codes' for integers.")
        check_settings(self, encode=(None, *ENCODINGS), missing=("keep", "zeros"))
        rules = self._rules(frame)
        schema = Schema.kinds(frame, self.types)
        for a in schema.attributes:
            if isinstance(a, Block):  # a block within a mapping of columns
                raise TableError(
                    f"{a.name!r} is a sparse block and cannot be discretized.", hint="pass its columns separately."
                )
        wanted = {*self._chosen(), *(name for name in rules if name)}
        return Schema(self._role(a, frame.columns[a.name], wanted) for a in schema.attributes)

    def _role(self, a: Attribute, column: Column, wanted: set[str]) -> Attribute:
        if isinstance(a, Numeric):
            return a if a.name in wanted or not wanted else _Other(a.name)
        cells = column if isinstance(column, np.ndarray) and column.dtype.kind == "O" else None
        empty = cells is not None and all(map(is_missing, cells))
        some = cells is not None and any(isinstance(cell, int | float | np.number) for cell in cells)
        if a.name in wanted and not (
            empty or some
        ):  # a column of numbers and strings raises an error about the string later
            raise OptionError(
                f"{a.name!r} has type {a.kind}; only numeric columns can be discretized.",
                hint=f"pass types={{{a.name!r}: 'numeric'}} if its values are numbers; else do not discretize it.",
            )
        return Numeric(a.name) if a.name in wanted else _Other(a.name, unknown=empty and not wanted)

    def _is_unknown(self, a: Any) -> bool:
        return a.unknown if isinstance(a, _Other) else super()._is_unknown(a)

    def _terms(self, schema: Schema, target: str) -> list[Term]:
        rules = self._rules()
        parts = []
        for a in schema.attributes:
            if isinstance(a, Numeric):
                how = rules.get(a.name) or rules[""]
                if isinstance(self.labels, Mapping) and a.name in self.labels:
                    how = replace(how, labels=self.labels[a.name])
                parts.append(Term(AsGiven(a), Binned(**settings_of(how))))
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
        self.attributes_ = {name: Ordinal(name, cuts.labels) for name, cuts in self.cuts_.items()}
        refuse_duplicates(self.get_feature_names_out().tolist())
        single = [name for name, edges in self.edges_.items() if len(edges) == 0]
        if single:
            warn(
                f"{listed(single)} {'has' if len(single) == 1 else 'have'} a single bin, "
                f"which carries no information. Hint: see report({single[0]!r}) for the reason."
            )

    # -- the discretized table -------------------------------------------------------

    def _learn(self, X: Any, y: Any, sample_weight: Any, *, allow_incomplete: bool = False) -> Self:
        supervised = [how.method for how in self._rules().values() if how.supervised]
        if y is None and supervised:
            raise TableError(
                f"{supervised[0]!r} is supervised and requires y to be passed, but the target y is None.",
                hint="pass y, or use 'equal_frequency', 'equal_width', 'kmeans', 'naive' or a list of cut points.",
            )
        return super()._learn(X, y, sample_weight, allow_incomplete=allow_incomplete)

    def transform(self, X: Any) -> Any:
        """Replace each number by its bin; missing values stay missing.

        Numbers outside the range of the training values are assigned to the first or the last bin, with a warning
        that says how many. With the method 'naive', a number that is no training value is missing, likewise with a
        warning; all its one-hot columns are 0.

        Examples
        --------
        >>> from countwise import Discretizer
        >>> cutter = Discretizer({"temp": [15.0, 25.0]}).fit({"temp": [12.5, 19.0, 31.0]})
        >>> cutter.transform({"temp": [14, 15.5, None]})["temp"].tolist()
        ['<= 15', '(15, 25]', None]
        """
        if is_relation(X):
            raise RowsRefused(
                "transform needs rows in memory, but X is an engine table.",
                hint="use transform_frame, which discretizes it in the engine.",
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
        found = _kernels.over_items(list(numbers.items()), lambda item: self._bins(*item), threads_for(frame.n_rows))
        outside = {name: n for name, (_, n) in zip(numbers, found, strict=True) if n}
        for naive, what in (
            (False, "Values outside the range of training are assigned to the first or the last bin"),
            (True, "Values that no training row has are in no bin"),
        ):
            counts = [f"{n} of {k!r}" for k, n in outside.items() if naive == (self.cuts_[k].values is not None)]
            if counts:
                warn(f"{what}: {', '.join(counts)}.")
        return {name: codes for name, (codes, _) in zip(numbers, found, strict=True)}

    def _bins(self, name: str, column: NDArray[Any]) -> tuple[NDArray[Any], int]:
        edges, (low, high) = self.edges_[name], self.tallies_[name].bounds
        codes = self.cuts_[name].codes(column)
        if self.cuts_[name].values is not None:
            return codes, int(np.count_nonzero(codes > len(edges) + 1))
        if not isinstance(self.how_[name].method, str):
            return codes, 0  # with given cut points the outer bins are unbounded
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
            missing = codes == len(domain)  # an unseen number has none of the values
            columns[f"{name} {label}"] = np.where(missing, np.nan, cells) if self.missing == "keep" else cells
        return columns

    def _tails(self) -> dict[str, list[str]]:
        expanded = self.edges_ if self.encode == "onehot" else {}
        return {
            a: [f" {label}" for label in self.attributes_[a].values] if a in expanded else [""] for a in self.schema_
        }

    def inverse_transform(self, X: Any) -> Any:
        """Replace each bin by its midpoint; the outer bins end at the minimum and the maximum of the training values.

        Examples
        --------
        >>> from countwise import Discretizer
        >>> cutter = Discretizer({"temp": [15.0, 25.0]}).fit({"temp": [12.5, 19.0, 31.0]})
        >>> cutter.inverse_transform({"temp": ["<= 15", "(15, 25]"]})["temp"].tolist()
        [13.75, 20.0]
        """
        X, frame = self._converted(X)
        tails_of = self._tails()
        expected = [f"{name}{tail}" for name, tails in tails_of.items() for tail in tails]
        if frame.named:  # columns of a table with names may be in any order
            absent = [name for name in expected if name not in frame.columns]
            if absent:
                raise missing_columns(absent, frame.columns)
        waiting = expected if frame.named else list(frame.columns)
        columns: dict[str, Column | None] = {}
        for name, tails in tails_of.items():
            own, waiting = waiting[: len(tails)], waiting[len(tails) :]
            if name not in self.edges_:
                columns[own[0] if frame.named else name] = None if frame.named else frame.columns[own[0]]
                continue
            codes = self._back([frame.columns[column] for column in own], name)
            columns[name] = np.append(self.centers(name), np.nan)[codes]
        return rebuilt(X, frame, columns, container_of(X, self._output_wanted()))

    def _back(self, columns: list[Column], name: str) -> Indices:
        """Return the codes of labels, codes or one-hot columns; a missing value has the code k."""
        domain = self.attributes_[name]
        k = len(domain.values)
        if self.encode == "onehot":
            cells = np.stack([np.asarray(c, dtype=np.float64) for c in columns], axis=1)
            missing = np.isnan(cells).any(axis=1) | ~cells.any(axis=1)
            return np.where(missing, k, np.argmax(np.nan_to_num(cells), axis=1))
        column = columns[0]
        if isinstance(column, Coded) or (
            column.dtype.kind in "OUS" and not all(isinstance(c, int | float | np.number | None) for c in column)
        ):  # labels, not codes
            return domain.encode(column, strict=True).astype(np.int64)
        cells = np.asarray(column, dtype=np.float64)
        wrong = (cells < 0) | (cells >= k) | ((cells != np.floor(cells)) & ~np.isnan(cells))
        if wrong.any():
            raise TableError(
                f"{name!r} has the code {cells[np.argmax(wrong)]:g}; its bins have the codes 0 to {k - 1}."
            )
        return np.where(np.isnan(cells), k, cells).astype(np.int64)

    def centers(self, name: str) -> Floats:
        """Return the midpoint of each bin of a column.

        Parameters
        ----------
        name : str
            A column that is discretized.

        Returns
        -------
        ndarray of shape (n_bins,)
            The midpoints. The outer bins end at the minimum and the maximum of the training values. With the method
            'naive', the values.

        Examples
        --------
        >>> from countwise import Discretizer
        >>> Discretizer({"temp": [15.0, 25.0]}).fit({"temp": [12.5, 19.0, 31.0]}).centers("temp").tolist()
        [13.75, 20.0, 28.0]
        """
        (low, high), edges = self._values_of(name).bounds, self.edges_[name]
        own = self.cuts_[name].values
        if own is not None:
            return own.copy()
        if len(edges) == 0:
            return _middles(np.array([low, high]))
        step = float(np.diff(edges).mean()) if len(edges) > 1 else 1.0
        low = low if low <= edges[0] else edges[0] - step  # a bin without training values
        high = high if high > edges[-1] else edges[-1] + step
        return _middles(np.array([low, *edges, high]))

    def _range_term(self) -> RangeTerm:
        self._check_fitted()
        names = {name: tuple(map(str, a.values)) for name, a in self.attributes_.items()}
        values = {name: cuts.values for name, cuts in self.cuts_.items() if cuts.values is not None}
        encode = self.encode or "labels"
        keep, inputs = self.missing == "keep", inputs_of(self.schema_)
        return RangeTerm(tuple(self.schema_), dict(self.edges_), names, encode, keep, inputs, values)

    def transform_frame(self, X: Any) -> Any:
        """Discretize a table in the engine that holds it; other columns are passed through.

        Parameters
        ----------
        X : table
            A DuckDB relation, Polars LazyFrame, Dask, Spark or Ibis table, or a DataFrame in memory.

        Returns
        -------
        table
            The discretized table, of the same type as X; a lazy table stays lazy. Bins are labels (strings), or as
            set by `encode`. A missing, NaN or infinite value is null.

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
        return executed(lambda: cut(X, self._range_term()))

    def to_sql(self, table: str, dialect: str = "duckdb", *, keep: Sequence[str] = ()) -> str:
        """Return an SQL query that discretizes a database table without Python, as `transform` does.

        Parameters
        ----------
        table : str
            The name of the table. A dot separates schema and table, unless the name is quoted.
        dialect : {'duckdb', 'postgres', 'spark', 'sqlite'}, default='duckdb'
            The SQL dialect of the query.
        keep : sequence of str, default=()
            Further columns of the table to select unchanged, such as the target.

        Returns
        -------
        str
            The query.

        Examples
        --------
        >>> from countwise import Discretizer
        >>> cutter = Discretizer({"t": [15.0, 25.0]}).fit({"t": [12.5, 19.0, 31.0], "w": ["n", "e", "e"]})
        >>> print(cutter.to_sql("days", "sqlite"))
        WITH cw_cells AS (
          SELECT CASE WHEN cw_row."t" = CAST(cw_row."t" AS NUMERIC) THEN CAST(cw_row."t" AS REAL)
            WHEN cw_row."t" GLOB '[0-2][0-9]:[0-5][0-9]:[0-5][0-9]*'
            THEN substr(cw_row."t", 1, 2) * 3600e0 + substr(cw_row."t", 4, 2) * 60e0 + substr(cw_row."t", 7)
            END AS cw_0,
            cw_row."w" AS cw_1
          FROM "days" AS cw_row
        )
        SELECT
          CASE WHEN ABS(cw_0) < (9e999) THEN CASE
            WHEN cw_0 <= 15e0 THEN '<= 15'
            WHEN cw_0 <= 25e0 THEN '(15, 25]'
            ELSE '> 25' END END AS "t",
          cw_1 AS "w"
        FROM cw_cells
        """
        keep = [keep] if isinstance(keep, str) else keep
        if not isinstance(keep, Iterable) or not all(isinstance(name, str) for name in keep):
            raise OptionError(f"keep must be the names of columns, not {keep!r}.")
        return range_query(self._range_term(), table, dialect, keep=list(keep))

    # -- report --------------------------------------------------------------------------

    def _values_of(self, name: str) -> Values:
        self._check_fitted()
        if not isinstance(name, str):
            raise OptionError(f"name must be the name of a column, not {name!r}.")
        if name in self.schema_ and name not in self.edges_:
            raise OptionError(f"{name!r} is not discretized: it is not numeric, or it was not selected.")
        if name not in self.edges_:
            raise OptionError(
                f"There is no column {name!r}.",
                hint=did_you_mean(name, self.schema_) or f"use one of the discretized columns {listed(self.edges_)}.",
            )
        return self.tallies_[name]

    def report(self, name: str) -> CutReport:
        """Report on the discretization of a column.

        Parameters
        ----------
        name : str
            A column that is discretized.

        Returns
        -------
        CutReport
            The bins, the number of rows of each class in each bin, the reason for each cut point, and the mutual
            information with the class before and after. It prints as a table.

        Examples
        --------
        >>> from countwise import Discretizer, samples
        >>> rain = samples.load("rain")
        >>> print(Discretizer("class_contiguous").fit(rain.X, rain.y).report("temp"))
        temp: 4 bins by class_contiguous
        bin            no  yes  reason for the upper edge
        <= 18.95        0    1  midway between 18.4 (yes) and 19.5 (no)
        (18.95, 19.6]   1    0  midway between 19.5 (no) and 19.7 (yes)
        (19.6, 21.9]    0    2  midway between 20.3 (yes) and 23.5 (no)
        > 21.9          2    0
        Mutual information with class, 6 distinct values: 1 bits (1 expected by chance)
        Mutual information with class, 4 bins: 1 bits (0 % lost)
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

    def explain(self, name: str) -> Account:
        """Explain the cut points of a column step by step.

        The working lists the values in ascending order with their classes and class runs, the computation of every
        cut point, the bins with their information gain, and χ² of adjacent bins. For 'mdl' it has the gain of each
        candidate in each interval and the MDL threshold written out, for k-means the centers of all iterations.

        Parameters
        ----------
        name : str
            A column that is discretized.

        Returns
        -------
        Account
            The working; print it, or display it in a notebook. `value` is the number of bins.

        Examples
        --------
        >>> from countwise import Discretizer, samples
        >>> rain = samples.load("rain")
        >>> working = Discretizer("class_contiguous").fit(rain.X, rain.y).explain("temp")
        >>> print(working.sections[1])
        cut points
          cut 1 = (18.4 + 19.5)/2 = 18.95
          cut 2 = (19.5 + 19.7)/2 = 19.6
          cut 3 = (20.3 + 23.5)/2 = 21.9
        """
        report = self.report(name)
        return discretization_working(report, self._values_of(name), self.how_[name])


def _middles(ends: Floats) -> Floats:
    """Return the midpoint of each bin, never its lower edge, which belongs to the bin below."""
    middles = ends[:-1] + np.diff(ends) / 2
    return np.where((middles > ends[:-1]) | (np.diff(ends) == 0), middles, ends[1:])
