"""Prototypes: the center of each class, column by column, and the distance of a value from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Floats
from countwise.base.generative import GenerativeClassifier
from countwise.base.term import Term, numeric_and_nominal
from countwise.cuts import quantiles
from countwise.data.attributes import Attribute, Nominal, Numeric, Ordinal
from countwise.data.derived import AsGiven
from countwise.data.frames import Frame
from countwise.data.schema import Schema
from countwise.data.table import Table
from countwise.distributions.distribution import Density
from countwise.distributions.distribution import no_say as left_out_step
from countwise.errors import OptionError, check_settings, listed
from countwise.measures import mvdm
from countwise.neighbors.metric import DistanceMetric
from countwise.tallies import Counts, Moments, Values
from countwise.working import Grid, Section, Working
from countwise.working.numbers import number
from countwise.working.steps import Factor, Step
from countwise.working.text import columns as classes_shown

__all__ = ["CenterDensity", "ClassCenters", "PrototypeClassifier"]


@dataclass(frozen=True, slots=True)
class ClassCenters:
    """The center of each class: mean or median of numbers, median of ordinal values, commonest nominal value."""

    center: str = "mean"  # or "median", of numbers
    metric: str = "euclidean"  # or "manhattan": whether distances add up as squares or as they are
    scaled: bool = False  # whether numbers are divided by a unit of their column, and ranks scaled to 0 to 1
    unit: str = "sd"  # or "range": what scaled numbers are divided by
    divisor: str = "n"  # or "n-1", of the variance
    nominal: str = "overlap"  # or "mvdm": how nominal values are compared
    weight: float = 1.0  # the factor of the (squared) distance

    def blank(self, given: Nominal, of: Attribute) -> Any:
        """Moments, values or counts, as the center needs."""
        if isinstance(of, Nominal):
            return Counts((given, of))
        if not isinstance(of, Numeric):
            raise TypeError(of.kind)
        plain = self.center == "mean" and self.metric == "euclidean" and not (self.scaled and self.unit == "range")
        return Moments(given, of) if plain else Values(given, of)

    def estimate(self, tally: Any) -> CenterDensity:
        """The centers, and the mean distance of the rows of a class from theirs."""
        if isinstance(tally, Counts):
            return self._of_nominal(tally)
        return self._of_moments(tally) if isinstance(tally, Moments) else self._of_values(tally)

    def _of_moments(self, tally: Moments) -> CenterDensity:
        n, mean, m2 = tally.triple
        total, middle, overall = tally.overall
        scale = self._scale(self._deviation(float(overall), float(total)))
        means = np.where(n > 0, mean, middle)
        return CenterDensity(tally.of, means, n, float(m2.sum()) / scale**2, scale, self)

    def _of_values(self, tally: Values) -> CenterDensity:
        pooled, pooled_weights = tally.pooled
        n = np.array([float(weights.sum()) for _, weights in tally.filled])
        away, centers = 0.0, []
        for values, weights in tally.filled:
            own = self._center(*(pooled, pooled_weights) if len(values) == 0 else (values, weights))
            centers.append(own)
            gaps = np.abs(values - own)
            away += float((weights * (gaps**2 if self.metric == "euclidean" else gaps)).sum())
        spread = 0.0
        if len(pooled) and self.unit == "range":
            spread = float(pooled[-1] - pooled[0])
        elif len(pooled):
            center = float(np.average(pooled, weights=pooled_weights))
            squares = float((pooled_weights * (pooled - center) ** 2).sum())
            spread = self._deviation(squares, float(pooled_weights.sum()))
        scale = self._scale(spread)
        power = 2 if self.metric == "euclidean" else 1
        return CenterDensity(tally.of, np.array(centers), n, away / scale**power, scale, self)

    def _center(self, values: Floats, weights: NDArray[Any]) -> float:
        if len(values) == 0:
            return 0.0
        if self.center == "mean":
            return float(np.average(values, weights=weights))
        return float(quantiles(values, weights, np.array([0.5]))[0])

    def _of_nominal(self, tally: Counts) -> CenterDensity:
        of: Any = tally.axes[1]
        table = np.asarray(tally.table, dtype=np.float64)
        n, k = table.sum(axis=1), len(of.values)
        apart = None
        if self.nominal == "mvdm" and not (isinstance(of, Ordinal) and self.scaled):
            apart = np.nan_to_num(mvdm(table.T), nan=2.0)
        table = np.where(n[:, None] > 0, table, table.sum(axis=0))
        codes = np.arange(k, dtype=np.float64)
        centers, scale = np.argmax(table, axis=1).astype(np.float64), 1.0
        if apart is not None:
            gaps = apart[:, centers.astype(np.intp)].T
        elif isinstance(of, Ordinal):
            centers = np.array([_median_code(row) for row in table])
            scale = float(max(k - 1, 1)) if self.scaled else 1.0
            gaps = np.abs(codes - centers[:, None]) / scale
        else:
            gaps = (codes != centers[:, None]).astype(np.float64)
        gaps = gaps**2 if self.metric == "euclidean" else gaps
        return CenterDensity(of, centers, n, float((table * gaps)[n > 0].sum()), scale, self, apart)

    def _deviation(self, squares: float, n: float) -> float:
        below = n - (self.divisor == "n-1")
        return float(np.sqrt(squares / below)) if below > 0 else 0.0

    def _scale(self, deviation: float) -> float:
        return float(deviation) if self.scaled and deviation > 0 else 1.0


def _median_code(counts: Floats) -> float:
    """The code at which half of the rows are reached."""
    if not counts.sum() > 0:
        return 0.0
    return float(np.searchsorted(np.cumsum(counts), counts.sum() / 2))


class CenterDensity(Density):
    """Distances of one column from the center of each class, as terms of a posterior.

    Each class has its center (a number, or a code) and n, the number of values behind it. `away` is the sum of all
    rows' (squared) distances from the center of their own class, `scale` what distances are divided by, and `apart`
    the distances of nominal values from each other.
    """

    def __init__(
        self,
        of: Attribute,
        centers: Floats,
        n: Floats,
        away: float,
        scale: float,
        settings: ClassCenters,
        apart: Floats | None = None,
    ) -> None:
        self.of, self.name, self.centers, self.n, self.scale = of, of.name, centers, n, scale
        self.away, self.weight, self.apart = away * settings.weight, settings.weight, apart
        self.squared = settings.metric == "euclidean"
        self.n_classes = len(centers)
        self.temperature = self.unit = 1.0  # set by the model: one for all columns
        middle = "middle value" if isinstance(of, Ordinal) else settings.center
        middle = "commonest value" if type(of) is Nominal or apart is not None else middle
        self.rule = f"distance from the {middle} of the class"
        self.scaled = settings.scaled
        # a constant column must not dilute the distances of the others
        self.silent = "never seen" if not (n > 0).any() else "constant" if not away and not np.ptp(centers) else ""
        self.silent = self.silent or ("" if settings.weight > 0 else "of no weight")

    @property
    def below(self) -> float:
        """What distances are divided by in the exponent: 2s², or s."""
        return 2 * self.temperature if self.squared else self.temperature

    def distances(self, column: NDArray[Any]) -> Floats:
        """The (squared) distance from the center of each class, (rows, classes); NaN for a missing value."""
        cells = np.asarray(column, dtype=np.float64)
        if isinstance(self.of, Nominal):
            cells = np.where(column >= self.of.missing, np.nan, cells)
        return self.added(cells)

    def added(self, cells: Floats) -> Floats:
        """The (squared) distance of numbers, or codes, from the center of each class; NaN stays NaN."""
        if self.apart is not None:
            gaps = self.apart[np.nan_to_num(cells).astype(np.intp)][:, self.centers.astype(np.intp)]
            gaps[np.isnan(cells)] = np.nan
        elif type(self.of) is Nominal:
            gaps = (cells[:, None] != self.centers).astype(np.float64)
            gaps[np.isnan(cells)] = np.nan
        else:
            gaps = np.abs(cells[:, None] - self.centers) / self.scale
        gaps = gaps / self.unit
        with np.errstate(over="ignore"):
            return self.weight * (gaps**2 if self.squared else gaps)

    def add_log_prob(self, column: NDArray[Any], out: Floats) -> None:
        """Add - d² / 2s², or - d / s."""
        if self.silent:
            return
        gaps = self.distances(column)
        gaps[np.isnan(gaps)] = 0.0
        out -= gaps / self.below

    def shown(self, code: float) -> str:
        """A center, or a value, as a person writes it."""
        return str(self.of.values[int(code)]) if isinstance(self.of, Nominal) else number(float(code))

    def steps(self, name: str, column: NDArray[Any], shown: str) -> list[Step]:
        """The factor of each class at the value."""
        gaps = self.distances(column)[0]
        if np.isnan(gaps).any():
            seen = isinstance(self.of, Nominal) and int(column[0]) == self.of.unseen
            return left_out_step(name, shown or "?", "never seen" if seen else "missing", self.rule)
        if self.silent:
            return left_out_step(name, shown, self.silent, self.rule)
        factors = []
        for d, n in zip(gaps.tolist(), self.n.tolist(), strict=True):
            power = f"-{number(d)} / {number(self.below)}"
            factors.append(Factor(-d / self.below, f"exp({power})", rf"e^{{{power}}}", total=n))
        return [Step(name, shown, tuple(factors), "known", self.rule)]

    def summary(self, classes: Sequence[Any]) -> dict[str, list[Any]]:
        """A row for each class: its center."""
        return {self.name: [str(c) for c in classes], "prototype": self.prototypes, "n": self.n.tolist()}

    @property
    def prototypes(self) -> list[Any]:
        """The center of each class: a number, or a value."""
        return [self.shown(m) if isinstance(self.of, Nominal) else float(m) for m in self.centers]


_SHARP = 1e-6  # of the distances between prototypes, if the rows of a class are all alike
_SHOWN = 12  # attributes of one kind in a summary


@dataclass(eq=False, repr=False)
class PrototypeClassifier(GenerativeClassifier):
    """Nearest mean, or nearest prototype: each class is its center, and a row belongs to the nearest.

    .. math:: P(c | x) ∝ P(c) exp(-d(x, m_c)² / 2s²), or P(c) exp(-d(x, m_c) / s) with the Manhattan metric

    where s² (or s) is the mean squared (or plain) distance, per column, of training rows from their own prototype.
    With the Euclidean metric and numeric columns alone the posterior is that of
    ``DiscriminantClassifier("spherical", prior="uniform")``.

    Parameters
    ----------
    center : {"mean", "median"}, default="mean"
        The center of numeric columns. Of nominal columns it is the commonest value, of ordinal ones the median.
    metric : {"euclidean", "manhattan"} or DistanceMetric, default="euclidean"
        Squared or absolute differences are added; nominal values differ by 0 or 1. A `DistanceMetric` with p = 1 or 2
        says how each column is compared and weighted. Missing values add nothing.
    scale : {"auto", "deviation", None}, default="auto"
        Numbers over the standard deviation of their column, and ordinal ranks from 0 to 1; "auto" does so if there
        are nominal columns, and else takes numbers as they are.
    prior : {"uniform", "raw"}, mapping or array-like, default="uniform"
        P(class): uniform, so that the nearest wins, as counted, or given.
    types : mapping of column to kind, str or Schema, optional
        The kinds of columns, where dtypes do not say.
    unseen : {"ignore", "error"}, default="ignore"
        An unseen value is ignored, or is an error.

    Attributes
    ----------
    classes_ : ndarray
        The classes in order.
    prototypes_ : Grid
        The prototype of each class.
    tallies_ : dict
        All that was learned.

    Examples
    --------
    >>> from countwise import PrototypeClassifier, samples
    >>> weather = samples.load("weather").columns("temperature", "humidity", "play")
    >>> model = PrototypeClassifier().fit(weather, "play")
    >>> model.distances([[66, 90]]).round(6).tolist(), model.predict([[66, 90]]).tolist()
    ([[9.402127, 12.944802]], ['no'])
    """

    center: str = "mean"
    _: KW_ONLY
    metric: Any = "euclidean"
    scale: str | None = "auto"
    prior: Any = "uniform"
    types: Any = None
    unseen: str = "ignore"

    def _infer_schema(self, frame: Frame) -> Schema:
        check_settings(self, center=("mean", "median"), scale=(None, "auto", "deviation"), unseen=("ignore", "error"))
        if isinstance(self.metric, DistanceMetric):
            _check_metric(self.metric, self.scale)
        else:
            check_settings(self, metric=("euclidean", "manhattan"))
        types = self.metric.types if isinstance(self.metric, DistanceMetric) and self.types is None else self.types
        return numeric_and_nominal(Schema.kinds(frame, types), "a prototype")

    def _terms(self, schema: Schema, target: str) -> list[Term]:
        if isinstance(self.metric, DistanceMetric):
            return [Term(AsGiven(a), _class_center(self.center, self.metric, a)) for a in schema.attributes]
        names = any(isinstance(a, Nominal) and not self._is_unknown(a) for a in schema.attributes)
        rule = ClassCenters(self.center, self.metric, self.scale == "deviation" or (self.scale == "auto" and names))
        return [Term(AsGiven(a), rule) for a in schema.attributes]

    def _estimate(self) -> None:
        super()._estimate()
        self.left_out_ = {name: d.silent for name, d in self.densities_.items() if d.silent}
        used = [d for d in self.densities_.values() if not d.silent]
        extent = max((float(np.ptp(d.centers)) / d.scale for d in used), default=0.0)
        self._unit = 1.0 if not extent or 1e-100 < extent < 1e100 else extent  # so that squares stay numbers
        for density in used:
            density.unit = self._unit
        # the mean distance of rows from their own prototype, per column; if it is 0, the nearest takes all
        cells = sum(float(d.n.sum()) for d in used)
        away = sum(d.away / d.unit / (d.unit if d.squared else 1.0) for d in used)
        spread = away / cells if cells else 0.0
        temperature = spread if spread > 0 else _SHARP * self._apart()
        for density in used:
            density.temperature = temperature

    def _apart(self) -> float:
        """The mean (squared) distance between prototypes."""
        total = np.zeros((len(self.classes_), len(self.classes_)))
        for density in self.densities_.values():
            total += density.added(density.centers)
        return float(total.mean()) or 1.0

    @property
    def prototypes_(self) -> Grid:
        """The prototype of each class."""
        self._check_fitted()
        cells = {name: density.prototypes for name, density in self.densities_.items()}
        return Grid({self.target_.name: self.classes_.tolist(), **cells})

    def distances(self, X: Any) -> Floats:
        """The distance of each row from the prototype of each class; a missing value adds nothing.

        Examples
        --------
        >>> from countwise import PrototypeClassifier, samples
        >>> weather = samples.load("weather").columns("temperature", "humidity", "play")
        >>> PrototypeClassifier().fit(weather, "play").distances([[66, 90]]).round(6).tolist()
        [[9.402127, 12.944802]]
        """
        frame = self._open(X)
        table = self._table(frame, 0, frame.n_rows, every=True)
        total = np.zeros((frame.n_rows, len(self.classes_)))
        for part in self.terms_:
            density = self.densities_[part.key]
            if not density.silent:
                total += np.nan_to_num(density.distances(table[part.key]), nan=0.0, posinf=np.inf)
        squared = all(density.squared for density in self.densities_.values())
        return (np.sqrt(total) if squared else total) * self._unit

    def _sections(self, table: Table, working: Working) -> list[Section]:
        shown = classes_shown(working)
        columns: dict[str, list[Any]] = {"": [], "value": []}
        columns |= {f"prototype {working.classes[c]}": [] for c in shown}
        squared = all(density.squared for density in self.densities_.values())
        what = "d²" if squared else "d"
        columns |= {f"{what} {working.classes[c]}": [] for c in shown}
        total = np.zeros(len(working.classes))
        for part in self.terms_:
            density, cells = self.densities_[part.key], table[part.key]
            gaps = density.distances(cells)[0]
            if np.isnan(gaps).any() or density.silent:
                continue
            total += gaps
            columns[""].append(part.key)
            columns["value"].append(density.shown(float(cells[0])))
            for c in shown:
                columns[f"prototype {working.classes[c]}"].append(density.shown(density.centers[c]))
                columns[f"{what} {working.classes[c]}"].append(float(gaps[c]))
        if not columns[""]:
            return []
        ends = np.sqrt(total) if squared else total
        away = ", ".join(f"{working.classes[c]} {number(float(ends[c] * self._unit))}" for c in shown)
        one = next(d for d in self.densities_.values() if not d.silent)
        spread, kind = ("2s²", " squared") if squared else ("s", "")
        source = f"the mean{kind} distance of the training rows from their own prototype, a column"
        lines = [f"distance: {away}", f"{spread} = {number(one.below)}, from {source}"]
        shares = np.array(columns[f"{what} {working.classes[working.rival]}"], dtype=np.float64)
        if not one.scaled and len(shares) > 1 and shares.max() > 0.9 * shares.sum() > 0:
            name = columns[""][int(np.argmax(shares))]
            lines.append(
                f"Numbers are taken as they are, and {name} is most of it; scale='deviation' evens columns out."
            )
        if any(d.scale != 1 for d in self.densities_.values()):
            scales = ", ".join(f"{k} {number(d.scale)}" for k, d in self.densities_.items() if d.scale != 1)
            unit = "units" if isinstance(self.metric, DistanceMetric) else "deviations of their column"
            lines.append(f"Numbers are in {unit}: {scales}")
        return [Section("Distance from each prototype", Grid(columns), tuple(lines))]


def _check_metric(metric: DistanceMetric, scale: Any) -> None:
    """Refuse a metric that has no meaning for the center of a class."""
    metric._check_settings()
    if metric._power() not in (1.0, 2.0):
        raise OptionError(f"p={metric.p!r}: prototypes are compared with p 1 or 2.")
    if scale not in (None, "auto"):
        raise OptionError(f"scale={scale!r} is the metric's affair.", hint="numeric='sd' in the metric.")
    if metric.unit_length or metric.numeric == "mvdm" or isinstance(metric.weights, str):
        raise OptionError(
            "A prototype cannot be compared by unit length, by ranges of numbers, or with weights from measures.",
            hint="numeric='range', and weights by name.",
        )


def _class_center(center: str, metric: DistanceMetric, a: Attribute) -> ClassCenters:
    """How an attribute is compared with the center of a class."""
    kind = "ordinal" if isinstance(a, Ordinal) else "nominal" if isinstance(a, Nominal) else "numeric"
    rule = (metric.attributes or {}).get(a.name) or getattr(metric, kind)
    known = {"numeric": ("range", "sd", "none"), "ordinal": ("steps", "mvdm"), "nominal": ("overlap", "mvdm")}[kind]
    if rule not in known:
        raise OptionError(f"A prototype of {a.name!r} cannot be compared by {rule!r}.", hint=f"give {listed(known)}.")
    weights = metric.weights if isinstance(metric.weights, Mapping) else {}
    return ClassCenters(
        center,
        "euclidean" if metric._power() == 2 else "manhattan",
        scaled=rule in ("range", "sd") or (rule == "steps" and metric.numeric != "none"),
        unit="range" if rule == "range" else "sd",
        divisor=metric.divisor,
        nominal="mvdm" if rule == "mvdm" else "overlap",
        weight=float(weights.get(a.name, 1.0)),
    )
