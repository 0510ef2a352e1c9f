"""Working of a discretization: the sorted values with their class runs, and the computation of every cut point."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels
from countwise._typing import Floats
from countwise.cuts import CutReport, CutRule, class_contiguous, midway
from countwise.data.columns import narrowest
from countwise.measures import (
    chi_square,
    chi_square_formula,
    entropy,
    entropy_formula,
    gain_formula,
    mutual_information,
)
from countwise.tallies import Values
from countwise.working import Account, Formula, Grid, Section
from countwise.working.numbers import number

__all__ = ["discretization_working"]

_MOST_VALUES = 40  # values, candidates and bins that are shown
_MOST_PARTS = 8  # intervals of the MDL method that are shown
_MOST_LINES = 12  # formulas of one kind that are shown


def discretization_working(report: CutReport, tally: Values, how: CutRule) -> Account:
    """Return the working of one column, from its report, its values in each class and its discretization method."""
    lines = _SortedLine(report, tally)
    k = len(report.cuts.edges) + 1
    answer = f"{report.name}: {k} bin{'s' * (k > 1)} by {report.how}"
    sections: list[Section] = []
    if lines.n:
        sections = [lines.section(), *_computed(lines, how)]
    sections.append(Section("bins", report.table, _information(report)))
    if k > 1 and lines.classes:
        sections.append(_adjacent(report))
    return Account(answer, float(k), tuple(sections), tuple(report.notes))


class _SortedLine:
    """The distinct values in ascending order, with the rows of each class at each of them."""

    def __init__(self, report: CutReport, tally: Values) -> None:
        self.report, self.tally = report, tally
        self.values: Floats = tally.pooled[0]
        self.n = len(self.values)
        self.classes = report.classes if len(tally.given.values) > 1 else ()
        self.counts = np.zeros((self.n, len(tally.given.values)))  # (values, classes)
        for c, (values, weights) in enumerate(tally.filled):
            self.counts[np.searchsorted(self.values, values), c] = weights

    @property
    def low(self) -> float:
        """The smallest value."""
        return float(self.values[0])

    @property
    def high(self) -> float:
        """The largest value."""
        return float(self.values[-1])

    @property
    def runs(self) -> NDArray[Any]:
        """The number of the run of each value: a run continues while some class has rows at every value in it."""
        edges = class_contiguous(self.tally).edges
        return np.searchsorted(edges, self.values, side="left") + 1

    def section(self) -> Section:
        """Return the sorted values with their classes, runs and cut points."""
        most, cuts = min(self.n, _MOST_VALUES), self.report.cuts
        own = {"value", "run", "cut above it"}
        heads = [f"{self.report.target} = {c}" if str(c) in own else str(c) for c in self.classes] or ["rows"]
        columns: dict[str, list[Any]] = {"value": self.values[:most].tolist()}
        for c, head in enumerate(heads):
            columns[head] = [int(n) if n.is_integer() else n for n in self.counts[:most, c].tolist()]
        if self.classes:
            columns["run"] = self.runs[:most].tolist()
        above = np.searchsorted(self.values, cuts.edges, side="right") - 1  # the value below each cut point
        cells = [""] * self.n
        for edge, place in zip(cuts.edges.tolist(), above.tolist(), strict=True):
            if place >= 0:
                cells[place] = f"{cells[place]}, {number(edge)}".removeprefix(", ")
        columns["cut above it"] = cells[:most]
        lines = [f"The first {most} of {self.n} distinct values."] if most < self.n else []
        if self.classes and self.n <= _MOST_VALUES:
            lines.append(self._drawn())
        return Section("values in ascending order", Grid(columns), tuple(lines))

    def _drawn(self) -> str:
        """Return the classes in ascending order of the values, with a bar between two runs."""
        runs, shown = self.runs, []
        for run in np.unique(runs):
            inside = [
                "/".join(str(c) for c, n in zip(self.classes, self.counts[i], strict=True) if n)
                for i in np.flatnonzero(runs == run)
            ]
            shown.append(" ".join(inside))
        return f"class runs: {' | '.join(shown)}"


def _computed(line: _SortedLine, how: CutRule) -> Iterator[Section]:
    """Yield the computation of the cut points of a discretization method."""
    cuts = line.report.cuts
    if not isinstance(how.method, str) or line.n < 2:
        return
    if how.method == "mdl":
        yield from _mdl(line)
    elif how.method == "equal_width":
        yield _equal_width(line, cuts.edges)
    elif how.method == "equal_frequency":
        yield _equal_frequency(line, cuts.edges)
    elif how.method in ("kmeans", "lloyd"):
        yield from _centers(line, how)
    elif len(cuts.edges):
        yield _midway(line, how)


def _formulas(texts: Sequence[str]) -> tuple[str, ...]:
    rest = len(texts) - _MOST_LINES
    shown = tuple(Formula(text) for text in texts[:_MOST_LINES])
    return (*shown, f"… and {rest} more.") if rest > 0 else shown


def _midway(line: _SortedLine, how: CutRule) -> Section:
    """Return the cut points midway between two values, with the reason for each."""
    below = np.searchsorted(line.values, line.report.cuts.edges, side="right") - 1
    texts = [
        f"cut {i + 1} = ({number(float(line.values[b]))} + {number(float(line.values[b + 1]))})/2 = {number(edge)}"
        for i, (b, edge) in enumerate(zip(below.tolist(), line.report.cuts.edges.tolist(), strict=True))
    ]
    reasons = line.report.cuts.reasons[:_MOST_LINES] if how.method == "min_n" else []
    return Section("cut points", Grid({}), (*_formulas(texts), *reasons))


def _equal_width(line: _SortedLine, edges: Floats) -> Section:
    """Return the width of the bins, and the cut points as multiples of it."""
    low, high = number(line.low), number(line.high)
    n = round((line.high - line.low) / float(edges[0] - line.low)) if len(edges) else 1
    width = number((line.high - line.low) / n)
    places = np.rint((edges - line.low) / (line.high - line.low) * n).astype(np.int64).tolist()
    pairs = zip(places, edges.tolist(), strict=True)
    texts = [
        f"width = ({high} - {low})/{n} = {width}",
        *(f"cut = {low} + {i}·{width} = {number(edge)}" for i, edge in pairs),
    ]
    return Section("cut points", Grid({}), _formulas(texts))


def _equal_frequency(line: _SortedLine, edges: Floats) -> Section:
    """Return the number of rows at or below each cut point."""
    rows = np.concatenate([[0], np.cumsum(line.counts.sum(axis=1))])
    below = rows[np.searchsorted(line.values, edges, side="right")]
    most = slice(_MOST_VALUES)
    table = {
        "cut": edges[most].tolist(),
        "rows at or below it": [number(x) for x in below[most].tolist()],
        "fraction": [f"{number(x)}/{number(float(rows[-1]))}" for x in below[most].tolist()],
    }
    return Section("cut points", Grid(table))


def _centers(line: _SortedLine, how: CutRule) -> Iterator[Section]:
    """Yield the iterations of k-means, and the mean and the sum of squares of each bin."""
    report, weights = line.report, line.counts.sum(axis=1)
    if report.history is not None:
        shown, *lines = report.iterations
        yield Section("iterations", shown, (*lines, "A value belongs to the nearest center."))
    codes = np.searchsorted(report.cuts.edges, line.values, side="left")
    k = min(len(report.cuts.edges) + 1, _MOST_LINES)
    table: dict[str, list[Any]] = {"bin": list(report.cuts.labels[:k]), "center": [], "sum of squares": []}
    total = 0.0
    for code in range(k):
        mine = codes == code
        x, w = line.values[mine], weights[mine]
        center = float(np.average(x, weights=w)) if len(x) else float("nan")
        table["center"].append(center)
        table["sum of squares"].append(float((w * (x - center) ** 2).sum()) if len(x) else 0.0)
        total += table["sum of squares"][-1]
    pairs = itertools.pairwise(table["center"])
    texts = [
        f"cut {i + 1} = ({number(a)} + {number(b)})/2 = {number(edge)}"
        for i, ((a, b), edge) in enumerate(zip(pairs, report.cuts.edges.tolist(), strict=False))
        if np.isfinite(a + b)
    ]
    if k == len(report.cuts.edges) + 1:
        texts.append(f"within-bin sum of squares = {number(total)}")
    kind = "" if how.method == "lloyd" else " of the best division of all"
    yield Section(f"centers{kind}", Grid(table), _formulas(texts))


def _mdl(line: _SortedLine) -> Iterator[Section]:
    """Yield a section for each interval that the MDL method tries to divide."""
    waiting, shown = [(0, line.n)], 0
    while waiting:
        start, stop = waiting.pop(0)
        counts = line.counts[start:stop]
        entries = np.argwhere(counts > 0)
        weights = counts[entries[:, 0], entries[:, 1]]
        values = line.values[start:stop][entries[:, 0]]
        best = _kernels.mdl_cuts(values, entries[:, 1].astype(narrowest(counts.shape[1])), weights, counts.shape[1])[
            3
        ]
        if best is None or np.count_nonzero(counts.sum(axis=0)) < 2:
            continue
        place, gain, threshold = int(entries[best[0], 0]), best[1], best[2]
        accepted = gain > threshold
        if shown < _MOST_PARTS:
            yield _divided(line, start, stop, place, threshold, accepted=accepted)
        shown += 1
        if accepted:
            waiting += [(start, start + place), (start + place, stop)]
    if shown > _MOST_PARTS:
        yield Section(f"… and {shown - _MOST_PARTS} more intervals", Grid({}))


def _divided(line: _SortedLine, start: int, stop: int, place: int, threshold: float, *, accepted: bool) -> Section:
    """Return the gain of each candidate in an interval, and the test of the best one."""
    counts, values = line.counts[start:stop], line.values[start:stop]
    places = _candidates(counts)
    tables = [np.stack([counts[:p].sum(axis=0), counts[p:].sum(axis=0)]) for p in places]
    cuts = midway(values[places - 1], values[places])
    order = np.arange(len(places))
    gains = np.array([float(mutual_information(table)) for table in tables])
    if len(order) > _MOST_VALUES:
        order = np.sort(np.argsort(-gains, kind="stable")[:_MOST_VALUES])
    at = int(np.searchsorted(places, place))
    table = {
        "": ["▶" if i == at else "" for i in order],
        "cut": cuts[order].tolist(),
        "below": [_written(tables[i][0]) for i in order],
        "above": [_written(tables[i][1]) for i in order],
        "gain": gains[order].tolist(),
    }
    best = tables[at]
    whole, sides = best.sum(axis=0), best
    n, ks = number(float(whole.sum())), [int((side > 0).sum()) for side in (whole, *sides)]
    bits = [number(float(entropy(side)) + 0.0) for side in (whole, *sides)]
    power = {2: "3²", 3: "3³"}.get(ks[0], str(3 ** ks[0]) if ks[0] < 12 else f"{3.0 ** ks[0]:.6g}")
    delta = f"({ks[0]}·{bits[0]} - {ks[1]}·{bits[1]} - {ks[2]}·{bits[2]})"
    verdict, sign = ("accepted", ">") if accepted else ("not accepted", "≤")
    lines: list[str] = [f"The {len(order)} candidates with the highest gains of {len(places)}."] * (
        len(order) < len(places)
    )
    cut = number(float(cuts[at]))
    lines += [
        f"Counts are those of {', '.join(map(str, line.classes))}.",
        entropy_formula(whole, "entropy"),
        *(entropy_formula(side, f"entropy({where})") for side, where in zip(sides, ("below", "above"), strict=True)),
        gain_formula(best, f"gain({cut})"),
        Formula(f"cost = log2({n} - 1) + log2({power} - 2) - {delta} = {number(threshold * float(whole.sum()))}"),
        Formula(f"threshold = cost/{n} = {number(threshold)}"),
        Formula(f"gain {sign} threshold: {number(float(gains[at]))} {sign} {number(threshold)}"),
        f"{cut} is {verdict}.",
    ]
    k = len(values)
    inside = f"{number(float(values[0]))} to {number(float(values[-1]))}"
    title = f"all {k} values" if k == line.n else f"{k} value{'s' * (k > 1)} from {inside}"
    return Section(f"{title}: gain of each candidate, in bits", Grid(table), tuple(lines))


def _candidates(counts: NDArray[Any]) -> NDArray[np.int64]:
    """Return the places between two values that are not inside a run of one class."""
    pure = (counts > 0).sum(axis=1) == 1
    code = counts.argmax(axis=1)
    inside = pure[1:] & pure[:-1] & (code[1:] == code[:-1])
    return np.flatnonzero(~inside).astype(np.int64) + 1


def _written(counts: NDArray[Any]) -> str:
    return " : ".join(number(float(n)) for n in counts)


def _adjacent(report: CutReport) -> Section:
    """Return χ² of each pair of adjacent bins: a small one says that they could be merged."""
    counts, labels = report.counts.T, report.cuts.labels
    most = min(len(labels) - 1, _MOST_LINES)
    tests = [chi_square(counts[i : i + 2]) for i in range(most)]
    table: dict[str, list[Any]] = {
        "bins": [f"{labels[i]}, {labels[i + 1]}" for i in range(most)],
        "χ²": [float(test[0]) for test in tests],
        "p": [float(test[2]) for test in tests],
    }
    lines = _formulas([chi_square_formula(counts[i : i + 2], f"χ²({i + 1})") for i in range(min(most, 4))])
    more = (f"The first {most} of {len(labels) - 1} pairs.",) if most < len(labels) - 1 else ()
    return Section("χ² of adjacent bins", Grid(table), (*lines, *more))


def _information(report: CutReport) -> tuple[str, ...]:
    """Return the gain of the bins, and that of the values."""
    if np.isnan(report.before):
        return ()
    return gain_formula(report.counts.T, "gain(bins)"), Formula(f"gain(values) = {number(report.before)}")
