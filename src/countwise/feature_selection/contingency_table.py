"""A contingency table of one attribute and the class, with the computation of χ², mutual information and gain."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise import measures
from countwise._typing import Floats
from countwise.data.columns import plain
from countwise.data.frames import Frame, frame_of, is_relation, is_sparse, series_of
from countwise.errors import NumberIn, OptionError, TableError, check_value, did_you_mean, listed
from countwise.feature_selection.contingency import Contingency, Filtering
from countwise.working import Account, Formula, Grid, Section
from countwise.working.numbers import Worked, number

__all__ = ["ContingencyTable", "contingency_table", "one_column", "table_named"]

_WIDTH = 80
_MOST_VALUES, _MOST_CLASSES = 12, 6  # rows and columns of a table that are shown
_MOST_LINES = 12
_FEW = 5  # with smaller expected counts the p-value is approximate


@dataclass(frozen=True, eq=False, repr=False)
class ContingencyTable:
    """Contingency table of an attribute and a class, with every step from its counts to χ², PMI and gain.

    Information is measured in bits. Printed, it shows the observed counts with their totals, the expected counts, the
    contribution of each cell to χ², the pointwise mutual information (PMI) of each cell, and the computations.

    Parameters
    ----------
    counts : array-like of shape (n_values, n_classes)
        Number of rows, or sum of their weights, with each value and class.
    values : sequence, optional
        Values of the attribute. By default 1, 2, ...
    classes : sequence, optional
        The classes. By default 1, 2, ...
    name : str, default='attribute'
        Name of the attribute.
    target : str, default='class'
        Name of the class.
    missing : float, default=0
        Weight of the rows that were left out because the attribute is missing.
    notes : sequence of str, default=()
        Remarks for the reader.

    See Also
    --------
    contingency_table : Count the table from rows.

    Examples
    --------
    >>> from countwise.feature_selection import ContingencyTable
    >>> table = ContingencyTable([[3, 4], [6, 1]], values=["high", "normal"], classes=["No", "Yes"])
    >>> round(table.chi_square, 4), table.degrees_of_freedom, round(table.p_value, 4)
    (2.8, 1, 0.0943)
    >>> table.expected.tolist()
    [[4.5, 2.5], [4.5, 2.5]]
    """

    counts: Any
    values: Sequence[Any] | None = None
    classes: Sequence[Any] | None = None
    name: str = "attribute"
    target: str = "class"
    missing: float = 0.0
    notes: Sequence[str] = ()

    def __post_init__(self) -> None:
        counts = _counts(self.counts)
        object.__setattr__(self, "counts", counts)
        for what, n in (("values", counts.shape[0]), ("classes", counts.shape[1])):
            given = getattr(self, what)
            try:
                labels = tuple(range(1, n + 1)) if given is None else tuple(map(plain, given))
            except TypeError:
                raise OptionError(f"{what} must be a sequence, not {given!r}.") from None
            if len(labels) != n:
                raise OptionError(f"{what} has {len(labels)} labels, but the counts need {n}.")
            object.__setattr__(self, what, labels)
        check_value("missing", self.missing, NumberIn(0))
        if isinstance(self.notes, str) or not isinstance(self.notes, Sequence):
            raise OptionError(f"notes must be a sequence of sentences, not {self.notes!r}.")
        object.__setattr__(self, "notes", tuple(map(str, self.notes)))

    # -- numbers ---------------------------------------------------------------------------

    @property
    def n(self) -> Any:
        """Number of rows in the table, or sum of their weights."""
        return self.counts.sum().item()

    @property
    def row_totals(self) -> NDArray[Any]:
        """Total of each value."""
        return np.asarray(self.counts.sum(axis=1))

    @property
    def column_totals(self) -> NDArray[Any]:
        """Total of each class."""
        return np.asarray(self.counts.sum(axis=0))

    @property
    def expected(self) -> Floats:
        """Expected counts if attribute and class were independent: row total · column total / n."""
        return measures.expected_counts(self.counts)

    @property
    def contributions(self) -> Floats:
        """Contribution (observed - expected)² / expected of each cell to χ²; 0 where the expected count is 0."""
        expected = self.expected
        squares = (self.counts - expected) ** 2
        return np.divide(squares, expected, out=np.zeros_like(expected), where=expected > 0)

    @property
    def pmi(self) -> Floats:
        """Pointwise mutual information of each cell; -inf if a cell is empty, NaN if its row or column is."""
        return measures.pmi(self.counts)

    @property
    def chi_square(self) -> float:
        """Pearson's statistic χ², the sum of the contributions."""
        return float(measures.chi_square(self.counts)[0])

    @property
    def degrees_of_freedom(self) -> int:
        """(number of values - 1) · (number of classes - 1), without values and classes that do not occur."""
        return int(measures.chi_square(self.counts)[1])

    @property
    def p_value(self) -> float:
        """Probability of a χ² at least this large if attribute and class are independent; NaN without a test."""
        return float(measures.chi_square(self.counts)[2])

    @property
    def mutual_information(self) -> float:
        """Mutual information of attribute and class; the information gain is the same number."""
        return float(measures.mutual_information(self.counts))

    @property
    def information_gain(self) -> float:
        """Entropy of the class minus its mean entropy given the value."""
        return self.mutual_information

    @property
    def gain_ratio(self) -> float:
        """Information gain divided by the entropy of the attribute; 0 if only one value occurs."""
        return float(measures.gain_ratio(self.counts))

    @property
    def symmetrical_uncertainty(self) -> float:
        """2 · mutual information / (entropy of the attribute + entropy of the class)."""
        return float(measures.symmetrical_uncertainty(self.counts))

    @property
    def gini_gain(self) -> float:
        """Decrease of the Gini impurity of the class when the value is known."""
        return float(measures.gini_gain(self.counts))

    @property
    def cells(self) -> Grid:
        """One row for each value and class: observed, expected, contribution, pmi."""
        place = [(v, c) for v in range(len(self.counts)) for c in range(self.counts.shape[1])]
        expected, contributions, pmi = self.expected, self.contributions, self.pmi
        return Grid(
            {
                self._value_column: [self.values[v] for v, _ in place],  # type: ignore[index]
                self._class_column: [self.classes[c] for _, c in place],  # type: ignore[index]
                "observed": [self.counts[cell].item() for cell in place],
                "expected": [float(expected[cell]) for cell in place],
                "contribution": [float(contributions[cell]) for cell in place],
                "pmi": [float(pmi[cell]) for cell in place],
            }
        )

    @property
    def _value_column(self) -> str:
        return _free(str(self.name), ("observed", "expected", "contribution", "pmi"))

    @property
    def _class_column(self) -> str:
        return _free(str(self.target), (self._value_column, "observed", "expected", "contribution", "pmi"))

    # -- computation -----------------------------------------------------------------------

    @property
    def sections(self) -> tuple[Section, ...]:
        """The computation in sections: counts, expected counts, χ², PMI, mutual information, information gain."""
        if not self.counts.sum() > 0:
            return (Section("observed counts", self._table(self.counts.tolist(), totals=True), ()),)
        return (
            Section("observed counts", self._table(self.counts.tolist(), totals=True), self._cut()),
            Section("expected counts: row total · column total / n", self._table(self._expected_cells())),
            Section("χ²: (observed - expected)² / expected", self._table(self._contribution_cells()), self._test()),
            Section("pointwise mutual information, in bits", self._table(self._pmi_cells())),
            Section("mutual information, in bits: Σ proportion · PMI", Grid({}), self._information()),
            Section("information gain and gain ratio", Grid({}), self._gain()),
        )

    def _table(self, cells: list[list[Any]], *, totals: bool = False) -> Grid:
        """Return the first values and classes of a table, with totals if wanted."""
        counts, few = self.counts, self._few
        shown = few[1]
        heads = [str(label) for label in (self.classes or ())[:shown]]
        if {str(self.name), "total"} & set(heads):
            heads = [f"{self.target} = {head}" for head in heads]
        columns: dict[str, list[Any]] = {str(self.name): [str(v) for v in (self.values or ())[: few[0]]]}
        for c, head in enumerate(heads):
            columns[_free(head, columns)] = [row[c] for row in cells[: few[0]]]
        if totals:
            columns = {name: [*column, ""] for name, column in columns.items()}
            first, *others = columns
            columns[first][-1] = "total"
            for c, name in enumerate(others):
                columns[name][-1] = counts[:, c].sum().item()
            columns[_free("total", columns)] = [*self.row_totals[: few[0]].tolist(), self.n]
        return Grid(columns)

    @property
    def _few(self) -> tuple[int, int]:
        """Numbers of values and classes that are shown."""
        k, m = self.counts.shape
        return min(k, _MOST_VALUES), min(m, _MOST_CLASSES)

    def _cut(self) -> tuple[str, ...]:
        both = zip(self._few, self.counts.shape, ("values", "classes"), strict=True)
        cut = [f"the first {few} of {whole:,} {what}" for few, whole, what in both if few < whole]
        return (f"The tables show {' and '.join(cut)}; the totals are those of all.",) if cut else ()

    def _expected_cells(self) -> list[list[Any]]:
        rows, columns, n = self.row_totals, self.column_totals, number(float(self.n))
        (k, m), expected = self._few, self.expected
        return [
            [Worked(expected[v, c], f"({number(float(rows[v]))}·{number(float(columns[c]))})/{n}") for c in range(m)]
            for v in range(k)
        ]

    def _contribution_cells(self) -> list[list[Any]]:
        (k, m), expected, parts = self._few, self.expected, self.contributions
        return [[_contribution(self.counts[v, c], expected[v, c], parts[v, c]) for c in range(m)] for v in range(k)]

    def _pmi_cells(self) -> list[list[Any]]:
        rows, columns, n = self.row_totals, self.column_totals, float(self.n)
        k, m = self._few
        return [
            [
                Formula(
                    measures.pmi_formula(self.counts[v, c], rows[v], columns[c], n, "").removeprefix(" = ").strip()
                )
                for c in range(m)
            ]
            for v in range(k)
        ]

    def _test(self) -> tuple[str, ...]:
        """Return the sum of the contributions, the degrees of freedom and the p-value."""
        expected, freedom = self.expected, self.degrees_of_freedom
        parts = [number(float(part)) for part in self.contributions[expected > 0]]
        lines: list[str] = [measures.sum_formula(parts, self.chi_square, "χ²")]
        if not freedom:
            return (*lines, "There is no test: only one value or only one class occurs.")
        k, m = (int((totals > 0).sum()) for totals in (self.row_totals, self.column_totals))
        lines.append(Formula(f"degrees of freedom = ({k} - 1)·({m} - 1) = {freedom}"))
        lines.append(Formula(f"p = P(χ² ≥ {number(self.chi_square)} | independence) = {number(self.p_value)}"))
        small = int(((expected > 0) & (expected < _FEW)).sum())
        if small:
            lines.append(
                f"{small} of {k * m} expected counts {'is' if small == 1 else 'are'} below {_FEW}, so p is "
                "approximate."
            )
        return tuple(lines)

    def _information(self) -> tuple[str, ...]:
        bits = self.mutual_information
        name = f"I({self.name}; {self.target})"
        nats = Formula(f"{name} in nats = {number(bits)}·ln(2) = {number(bits * math.log(2))}")
        return measures.mutual_information_formula(self.counts, name), nats

    def _gain(self) -> tuple[str, ...]:
        name, target, rows = self.name, self.target, self.row_totals
        occurring = np.flatnonzero(rows > 0)
        lines: list[str] = [measures.entropy_formula(self.column_totals, f"H({target})")]
        lines += [
            measures.entropy_formula(self.counts[v], f"H({target} | {(self.values or ())[v]})")
            for v in occurring[:_MOST_LINES]
        ]
        if len(occurring) > _MOST_LINES:
            lines.append(f"… and the entropies of {len(occurring) - _MOST_LINES:,} further values.")
        lines.append(measures.gain_formula(self.counts, f"gain({name})"))
        lines.append(measures.entropy_formula(rows, f"H({name})"))
        lines.append(
            measures.gain_ratio_formula(self.information_gain, measures.entropy(rows), f"gain ratio({name})")
        )
        return tuple(lines)

    # -- display ---------------------------------------------------------------------------

    @property
    def _account(self) -> Account:
        test = ""
        if self.degrees_of_freedom:
            test = f"χ² = {number(self.chi_square)}, p = {number(self.p_value)}; "
        answer = f"{self.name} and {self.target}: {test}mutual information {number(self.mutual_information)} bits"
        left_out = number(float(self.missing))
        notes = [f"{left_out} row{'s' * (left_out != '1')} without {self.name} left out."] if self.missing else []
        if self.counts.dtype.kind == "f":
            notes.append("The counts are sums of weights.")
        return Account(answer, self.mutual_information, self.sections, (*notes, *self.notes))

    def __str__(self) -> str:
        return self.text(_WIDTH)

    def __repr__(self) -> str:
        k, m = self.counts.shape
        return f"ContingencyTable({self.name}, {self.target}: {k} values, {m} classes, n = {number(float(self.n))})"

    def text(self, width: int | None = None) -> str:
        """Return the table and its computations as plain text.

        Parameters
        ----------
        width : int or None, default=None
            Tables and formulas are broken to fit into this many characters. If None, nothing is broken.

        Returns
        -------
        str
            The result, the sections and the notes.

        Examples
        --------
        >>> from countwise.feature_selection import ContingencyTable
        >>> table = ContingencyTable([[3, 4], [6, 1]], ["high", "normal"], ["No", "Yes"], name="humidity")
        >>> print("\\n".join(table.text().split("\\n")[:6]))
        humidity and class: χ² = 2.8, p = 0.0942643; mutual information 0.151836 bits
        <BLANKLINE>
        observed counts
          humidity  No  Yes  total
          high       3    4      7
          normal     6    1      7
        """
        return self._account.text(width)

    def latex(self, width: int | None = None) -> str:
        r"""Return the table and its computations as LaTeX; the document must load amsmath, and graphicx for a width.

        Parameters
        ----------
        width : int or None, default=None
            Tables and formulas are broken to fit into this many characters; a beamer frame has about 56. If None,
            nothing is broken.

        Returns
        -------
        str
            The result, the sections and the notes.

        Examples
        --------
        >>> from countwise.feature_selection import ContingencyTable
        >>> shown = ContingencyTable([[3, 4], [6, 1]]).latex(56)
        >>> r"\frac{7 \cdot 9}{14} = 4.5" in shown
        True
        """
        return self._account.latex(width)

    def html(self) -> str:
        """Return the table and its computations as HTML that needs no external style sheet.

        Returns
        -------
        str
            The result, the sections and the notes, with their style.

        Examples
        --------
        >>> from countwise.feature_selection import ContingencyTable
        >>> "<h4>observed counts</h4>" in ContingencyTable([[3, 4], [6, 1]]).html()
        True
        """
        return self._account.html()

    def _repr_html_(self) -> str:
        return self.html()

    def to_dict(self) -> dict[str, Any]:
        """Return the table as plain data with unrounded numbers; infinite and undefined numbers are None.

        Returns
        -------
        dict
            The names, values, classes, counts and totals; `expected`, `contributions` and `pmi` of each cell; the
            measures; and the `sections`.

        Examples
        --------
        >>> from countwise.feature_selection import ContingencyTable
        >>> found = ContingencyTable([[3, 4], [6, 1]]).to_dict()
        >>> found["counts"], found["degrees_of_freedom"], round(found["chi_square"], 4)
        ([[3, 4], [6, 1]], 1, 2.8)
        """
        one = ("chi_square", "degrees_of_freedom", "p_value", "mutual_information", "information_gain", "gain_ratio",
               "symmetrical_uncertainty", "gini_gain")  # fmt: skip
        many = ("counts", "row_totals", "column_totals", "expected", "contributions", "pmi")
        return {
            "name": str(self.name),
            "target": str(self.target),
            "values": list(self.values or ()),
            "classes": list(self.classes or ()),
            "n": self.n,
            "missing": self.missing,
            **{name: _finite(getattr(self, name).tolist()) for name in many},
            **{name: _finite(getattr(self, name)) for name in one},
            "notes": list(self.notes),
            "sections": [section.to_dict() for section in self.sections],
        }


def contingency_table(
    X: Any,
    y: Any = None,
    *,
    column: str | None = None,
    sample_weight: Any = None,
    missing: str = "ignore",
    numeric: Any = None,
    nominal: str = "nominal",
    ordinal: str = "nominal",
    types: Any = None,
) -> ContingencyTable:
    """Count the contingency table of one attribute and the class.

    Parameters
    ----------
    X : array-like of one column, any table, path, or iterator of frames
        The attribute, or a table that has it.
    y : array-like or str
        The class of each row, or the name of its column in X.
    column : str, optional
        The attribute, if X has several columns.
    sample_weight : array-like or str, optional
        Weight of each row, or the name of its column.
    missing : {'ignore', 'value'}, default='ignore'
        Whether rows without the attribute are left out and counted, or missing is a value of its own.
    numeric : str, sequence of float, Binned, or mapping of column to any of these, optional
        How a numeric column is discretized; see `attribute_scores`.
    nominal : {'nominal', 'binary'}, default='nominal'
        With 'binary', `column` is an indicator such as 'outlook=Sunny'; see `attribute_scores`.
    ordinal : {'nominal', 'binary', 'number'}, default='nominal'
        How an ordinal column is counted; see `attribute_scores`.
    types : mapping of column to type, str or Schema, optional
        Declared column types; the types of other columns follow from their dtypes.

    Returns
    -------
    ContingencyTable
        Counts, expected counts, χ², pointwise mutual information and gain, each with its computation. The scores are
        those of `attribute_scores` with the same arguments.

    See Also
    --------
    attribute_scores : The scores of all attributes.

    Examples
    --------
    >>> from countwise import samples
    >>> from countwise.feature_selection import contingency_table
    >>> tennis = samples.load("tennis")
    >>> table = contingency_table(tennis.frame, "play", column="outlook")
    >>> table.counts.tolist(), round(table.chi_square, 4), round(table.mutual_information, 4)
    ([[0, 4], [2, 3], [3, 2]], 3.5467, 0.2467)
    >>> print(table.sections[1])
    expected counts: row total · column total / n
      outlook   No                  Yes
      Overcast  (4·5)/14 = 1.42857  (4·9)/14 = 2.57143
      Rain      (5·5)/14 = 1.78571  (5·9)/14 = 3.21429
      Sunny     (5·5)/14 = 1.78571  (5·9)/14 = 3.21429
    """
    check_value("missing", missing, ("ignore", "value"))
    whole = types is not None or isinstance(numeric, Mapping) or isinstance(sample_weight, str)
    if not whole and isinstance(nominal, str) and isinstance(ordinal, str) and nominal == ordinal == "nominal":
        X = one_column(X, y, column)
    filters = Filtering(numeric=numeric, nominal=nominal, ordinal=ordinal, types=types).fit(X, y, sample_weight)
    return table_named(filters, column, missing == "value")


def one_column(X: Any, y: Any, column: Any) -> Any:
    """Return a column as a table, and a table in memory without the columns that are not needed."""
    if _is_column(X):
        values, name = series_of(X)
        return Frame({str(name or column or "x"): values}, len(values), named=True)
    in_memory = not (is_relation(X) or is_sparse(X) or isinstance(X, str)) and hasattr(X, "__len__")
    if not isinstance(column, str) or not in_memory:
        return X
    frame = frame_of(X)
    if column not in frame.columns:
        return X
    wanted = [column, *([y] if isinstance(y, str) and y in frame.columns else [])]
    return Frame({name: frame.columns[name] for name in wanted}, frame.n_rows, named=True)


def _is_column(X: Any) -> bool:
    if isinstance(X, list | tuple):
        return bool(X) and (isinstance(X[0], str | bytes) or not hasattr(X[0], "__len__"))
    shape = getattr(X, "shape", None)
    if isinstance(shape, tuple):
        return len(shape) == 1
    return hasattr(X, "to_pylist") and not hasattr(X, "schema")  # an Arrow array


def table_named(filters: Filtering, column: Any, count_missing: bool) -> ContingencyTable:
    """Return one of the tables that were counted; the column may be None if there is only one."""
    tables = {name: (found, i) for found in filters.contingencies_ for i, name in enumerate(found.names)}
    if column is None:
        if len(tables) > 1:
            raise OptionError(
                f"X has {len(tables)} columns, but a contingency table has one.",
                hint=f"name it: column={next(iter(tables))!r}.",
            )
        column = next(iter(tables))
    if not isinstance(column, str) or column not in tables:
        named = [found for found in filters.contingencies_ if isinstance(column, str) and found.of.name == column]
        parts = [name for found in named for name in found.names]
        if parts:
            raise OptionError(f"{column!r} has several tables.", hint=f"name one of {listed(parts)}.")
        raise OptionError(
            f"The table has no attribute {column!r}.",
            hint=did_you_mean(column, tables) or f"use one of {listed(tables)}.",
        )
    found, i = tables[column]
    if found.information is not None:
        raise OptionError(
            f"{column!r} is read as Gaussian in each class, which has no counts.",
            hint="use another value of numeric.",
        )
    return _made(filters, found, column, found.tables[i], count_missing)


def _made(
    filters: Filtering, found: Contingency, name: str, counts: NDArray[Any], count_missing: bool
) -> ContingencyTable:
    target, values, missing = filters.target_, list(found.values), found.missing
    notes = [f"{name} is counted in {found.how}."] if "bin" in found.how and found.how != "binary" else []
    notes += [f"{name}: {found.note}."] if found.note else []
    if count_missing and missing:
        of_class = filters.tallies_[target.name].table
        unknown = np.where(np.abs(rest := of_class - counts.sum(axis=0)) > 1e-9 * of_class.sum(), rest, 0)
        counts, missing = np.vstack([counts, unknown]), 0
        values.append(_free("missing", values))
    return ContingencyTable(counts, values, target.values, name, target.name, missing, notes)


def _counts(given: Any) -> NDArray[Any]:
    """Return counts as integers if they are, else as floats."""
    try:
        counts = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise TableError(f"counts must be a matrix of numbers, not {given!r}.") from None
    if counts.ndim != 2 or not counts.shape[1]:
        raise TableError(
            f"counts must be a matrix with a row for each value and a column for each class, not {given!r}."
        )
    if not (np.isfinite(counts).all() and (counts >= 0).all() and counts.sum() <= 1e300):
        raise TableError("counts must be finite numbers >= 0.")
    whole = bool((counts == np.rint(counts)).all()) and counts.sum() < 2**53
    return counts.astype(np.int64) if whole else counts


def _contribution(observed: Any, expected: float, part: float) -> Any:
    if not expected > 0:
        return Worked(0.0, "")
    return Worked(part, f"({number(float(observed))} - {number(expected)})²/{number(expected)}")


def _free(name: str, taken: Any) -> str:
    """Return a name that is not taken."""
    while name in taken:
        name += "'"
    return name


def _finite(value: Any) -> Any:
    """Replace infinite and undefined numbers by None."""
    if isinstance(value, list):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
