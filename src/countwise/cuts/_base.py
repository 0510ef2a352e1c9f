"""Cut points with their reasons, bin labels, and the report of a discretization."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels
from countwise._typing import Floats
from countwise.data.columns import narrowest
from countwise.working import Account, Grid, Section
from countwise.working.numbers import number

__all__ = ["CutReport", "Cuts", "codes_in", "labels", "midway", "uncut"]

_MOST_ITERATIONS = 20  # iterations that are shown


@dataclass(frozen=True, slots=True, eq=False)
class Cuts:
    """Cut points of a numeric attribute, with the reason for each."""

    edges: Floats  # cut points in ascending order; the bins are (lo, hi]
    reason: str = ""  # template of the reason for a cut point, with a field for each of `parts`
    parts: tuple[Sequence[Any] | NDArray[Any], ...] = ()  # the content of each field, for each cut point
    notes: tuple[str, ...] = ()  # deviations from the requested settings
    values: Floats | None = None  # the only number of each bin, for the naive method; any other number is unseen
    names: tuple[str, ...] = ()  # names of the bins given by the user
    history: tuple[Floats, Floats] | None = None  # of k-means: the centers of each iteration, and their inertia

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the bins: their names, their only values or their ranges."""
        if self.names:
            return self.names
        return labels(self.edges) if self.values is None else tuple(_plain(value) for value in self.values.tolist())

    @property
    def ranges(self) -> tuple[str, ...]:
        """The range of each bin; its only value for the naive method."""
        return labels(self.edges) if self.values is None else replace(self, names=()).labels

    def codes(self, column: NDArray[Any]) -> NDArray[Any]:
        """Return the bin of each number; k is the code of a missing value, and k + 1 that of an unseen number."""
        codes = codes_in(self.edges, column)
        if self.values is None:
            return codes
        known = codes < len(self.values)
        own = self.values[np.where(known, codes, 0)]
        codes[known & (own != column)] = len(self.values) + 1
        return codes

    def why(self, i: int) -> str:
        """Return the reason for the i-th cut point."""
        cells = [part[i] for part in self.parts]
        return self.reason.format(*(cell if isinstance(cell, str) else number(float(cell)) for cell in cells))

    @property
    def reasons(self) -> list[str]:
        """The reason for each cut point."""
        return [self.why(i) for i in range(len(self.edges))]


def uncut(*notes: str) -> Cuts:
    """Return a single bin, with notes on the reason."""
    return Cuts(np.empty(0), notes=notes)


def midway(low: Any, high: Any) -> Any:
    """Return the midpoint of low < high; if rounding makes it `high`, return `low`."""
    with np.errstate(over="ignore"):
        middle = low + (high - low) / 2
        middle = np.where(np.isfinite(middle), middle, low / 2 + high / 2)
    return np.where(middle < high, middle, low)


def codes_in(edges: Floats, column: NDArray[Any]) -> NDArray[Any]:
    """Return the bin of each number; a missing value has its own code."""
    codes = np.empty(len(column), dtype=narrowest(len(edges) + 3))
    _kernels.cut_codes(column, edges, codes)
    return codes


def labels(edges: Floats) -> tuple[str, ...]:
    """Return the labels of the bins: ``<= 70.5``, ``(70.5, 77.5]``, ``> 77.5``."""
    if len(edges) == 0:
        return ("any",)
    texts = _written(edges)
    middle = [f"({a}, {b}]" for a, b in itertools.pairwise(texts)]
    return (f"<= {texts[0]}", *middle, f"> {texts[-1]}")


def _written(edges: Floats) -> list[str]:
    """Return the cut points as text, with as few digits (at least six) as keep them distinct and accurate.

    A single cut point, whose distance to the values is not known, has at least three decimals.
    """
    short = [len(f"{e:.9g}") < 17 and float(f"{e:.9g}") == e for e in edges]
    apart = float(np.diff(edges).min()) if len(edges) > 1 else min(abs(float(edges[0])) * 5e-3, 1.0)
    rounded = edges.tolist()
    for figures in range(6, 18):
        rounded = [float(e) if whole else float(f"{e:.{figures}g}") for e, whole in zip(edges, short, strict=True)]
        if len(set(rounded)) == len(edges) and (np.abs(np.array(rounded) - edges) <= 1e-3 * apart).all():
            break
    return [_plain(value) for value in rounded]


def _plain(value: float) -> str:
    """Return a number as text, without an exponent unless it is very large or very small."""
    if value == 0 or 1e-5 <= abs(value) < 1e15:
        return np.format_float_positional(value, trim="-")
    return f"{value:g}" if float(f"{value:g}") == value else repr(value)


@dataclass(frozen=True, slots=True, eq=False)
class CutReport:
    """Report on the discretization of a column.

    It shows the bins, the number of rows of each class in each bin, the reason for each cut point, and the mutual
    information with the class before and after.

    Parameters
    ----------
    name : str
        The column.
    target : str
        The target.
    how : str
        The discretization method.
    cuts : Cuts
        The cut points, with the reason for each.
    classes : tuple
        The classes.
    counts : ndarray of shape (n_classes, n_bins)
        The number of rows of each class in each bin.
    n_values : int
        The number of distinct values of the column.
    missing : float
        The number of missing values (their total weight).
    before : float
        The mutual information of the values and the class, in bits.
    after : float
        The mutual information of the bins and the class, in bits.
    chance : float
        The expected mutual information if the values were independent of the class, in bits.

    Examples
    --------
    >>> from countwise import Discretizer, samples
    >>> weather = samples.load("weather")
    >>> cutter = Discretizer({"temperature": "min_n"}, n=3).fit(weather.X, weather.y)
    >>> print(cutter.report("temperature"))
    temperature: 3 bins by min_n, n = 3
    bin           no  yes  reason for the upper edge
    <= 70.5        1    4  4 rows of yes up to 70; 71 is of another class
    (70.5, 77.5]   2    3  3 rows of yes up to 75; 80 is of another class
    > 77.5         2    2
    Mutual information with class, 12 distinct values: 0.797429 bits (0.798999 expected by chance)
    Mutual information with class, 3 bins: 0.0499721 bits (94 % lost)
    """

    name: str
    target: str
    how: str
    cuts: Cuts
    classes: tuple[Any, ...]
    counts: NDArray[Any]
    n_values: int
    missing: float
    before: float
    after: float
    chance: float

    @property
    def table(self) -> Grid:
        """Table with a row for each bin: the number of rows of each class, and the reason for its upper edge."""
        per_class = {
            str(c): [number(float(n)) for n in row] for c, row in zip(self.classes, self.counts, strict=True)
        }
        ranges = {"range": self.cuts.ranges} if self.cuts.names else {}
        return Grid(
            {"bin": self.cuts.labels, **ranges, **per_class, "reason for the upper edge": [*self.cuts.reasons, ""]}
        )

    @property
    def history(self) -> Grid | None:
        """Table of the iterations of 'lloyd': the centers, the cut points between them and the sum of squares."""
        if self.cuts.history is None:
            return None
        centers, inertia = self.cuts.history
        edges = midway(centers[:, :-1], centers[:, 1:])
        return Grid(
            {
                "iteration": list(range(len(centers))),
                **{f"center {i + 1}": column.tolist() for i, column in enumerate(centers.T)},
                **{f"cut {i + 1}": column.tolist() for i, column in enumerate(edges.T)},
                "sum of squares": inertia.tolist(),
            }
        )

    @property
    def iterations(self) -> tuple[Any, ...]:
        """The history as it is shown: the first and the last iterations, and a sentence if some are left out."""
        history = self.history
        if history is None or history.n_rows <= _MOST_ITERATIONS:
            return (history,)
        half = _MOST_ITERATIONS // 2
        kept = Grid({name: [*column[:half], *column[-half:]] for name, column in history.items()})
        return kept, f"Iterations {half} to {history.n_rows - half - 1} are not shown."

    @property
    def _account(self) -> Account:
        k = len(self.cuts.edges) + 1
        sections = [Section("bins", self.table, tuple(self._information()))]
        if self.history is not None:
            table, *lines = self.iterations
            sections.append(Section("iterations", table, tuple(lines)))
        answer = f"{self.name}: {k} bin{'s' * (k > 1)} by {self.how}"
        return Account(answer, float(k), tuple(sections), tuple(self.notes))

    def latex(self, width: int | None = None) -> str:
        r"""Return the report as LaTeX; the document must load amsmath, and graphicx if a width is given.

        Parameters
        ----------
        width : int or None, default=None
            Tables are broken to fit into this many characters; a beamer frame has about 56. None does not break.

        Returns
        -------
        str
            The bins, the iterations of k-means, the information and the notes.

        Examples
        --------
        >>> from countwise import Discretizer
        >>> cutter = Discretizer({"temp": [15.0]}).fit({"temp": [12.5, 19.0, 31.0]})
        >>> print(cutter.report("temp").latex().splitlines()[0])
        \noindent temp: 2 bins by hand\par
        """
        return self._account.latex(width)

    def _repr_html_(self) -> str:
        return self._account.html()

    def _information(self) -> list[str]:
        """Return the mutual information with the class, before and after."""
        if np.isnan(self.before):
            return []
        k = len(self.cuts.edges) + 1
        fraction = max(0.0, 1 - self.after / self.before) if self.before > 0 else 0.0
        lost = f" ({100 * fraction:.0f} % lost)" if self.before > 0 else ""
        about, chance = f"Mutual information with {self.target}", f"({number(self.chance)} expected by chance)"
        return [
            f"{about}, {self.n_values} distinct values: {number(self.before)} bits {chance}",
            f"{about}, {k} bin{'s' * (k > 1)}: {number(self.after)} bits{lost}",
        ]

    @property
    def notes(self) -> list[str]:
        """Notes, such as deviations from the requested settings and missing values."""
        notes = list(self.cuts.notes)
        if self.n_values == 0:
            notes.append("every value is missing")
        elif self.n_values == 1:
            notes.append("all values are equal")
        if self.missing > 0:
            notes.append(f"{number(self.missing)} values are missing and stay missing")
        return notes

    def __str__(self) -> str:
        return self.text()

    def text(self, width: int | None = None) -> str:
        """Return the report as plain text.

        Parameters
        ----------
        width : int or None, default=None
            The number of characters of a line; the table is wrapped to fit. None does not wrap.

        Returns
        -------
        str
            The text.

        Examples
        --------
        >>> from countwise import Discretizer
        >>> cutter = Discretizer({"temp": [15.0]}).fit({"temp": [12.5, 19.0, 31.0]})
        >>> print(cutter.report("temp").text())
        temp: 2 bins by hand
        bin    rows  reason for the upper edge
        <= 15     1  given
        > 15      2
        """
        k = len(self.cuts.edges) + 1
        lines = [f"{self.name}: {k} bin{'s' * (k > 1)} by {self.how}", self.table.text(width)]
        if self.history is not None:
            lines += [part.text(width) if isinstance(part, Grid) else part for part in self.iterations]
        return "\n".join([*lines, *self._information(), *(f"Note: {note}" for note in self.notes)])

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain data, for JSON.

        Returns
        -------
        dict
            The cut points, the ranges and the labels of the bins, the counts, the information and the notes.

        Examples
        --------
        >>> from countwise import Discretizer
        >>> cutter = Discretizer({"temp": [15.0]}).fit({"temp": [12.5, 19.0, 31.0]})
        >>> cutter.report("temp").to_dict()["counts"]
        {'rows': [1, 2]}
        """
        bits = {"before": self.before, "after": self.after, "by_chance": self.chance}
        return {
            "attribute": self.name,
            "rule": self.how,
            "cuts": [{"at": float(e), "why": self.cuts.why(i)} for i, e in enumerate(self.cuts.edges)],
            "ranges": list(self.cuts.ranges),
            "labels": list(self.cuts.labels),
            "counts": {str(c): row.tolist() for c, row in zip(self.classes, self.counts, strict=True)},
            "values": self.n_values,
            "missing": self.missing,
            "information_bits": None if np.isnan(self.before) else bits,
            **({} if self.history is None else {"history": dict(self.history)}),
            "notes": self.notes,
        }
