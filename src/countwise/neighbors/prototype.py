"""Prototype classifier: the center of each class, and the distance of a row to each center."""

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
from countwise.data.derived import AsGiven, Derived
from countwise.data.frames import Frame
from countwise.data.schema import Schema
from countwise.data.table import Table
from countwise.distributions.distribution import Density
from countwise.distributions.distribution import no_say as left_out_step
from countwise.errors import OptionError, check_settings, listed
from countwise.measures import mvdm
from countwise.neighbors.edit_distance import edit_distances
from countwise.neighbors.local_distances import Edits, string_of
from countwise.neighbors.metric import DistanceMetric, metric_hint
from countwise.tallies import Counts, Moments, Values
from countwise.tallies.moments import LEAST_SIZE, too_small
from countwise.working import Grid, Section, Working
from countwise.working.numbers import Worked, cell, number
from countwise.working.steps import Factor, Step
from countwise.working.text import columns as classes_shown

__all__ = ["CenterDensity", "ClassCenters", "PrototypeClassifier"]


@dataclass(frozen=True, slots=True)
class ClassCenters:
    """Rule for class centers: mean or median of numbers, median of ordinal codes, most frequent value or medoid."""

    center: str = "mean"  # or "median": center of numeric columns
    metric: str = "euclidean"  # or "manhattan": sum of squared or of absolute distances
    scaled: bool = False  # whether numbers are divided by their unit, and ordinal codes scaled to [0, 1]
    unit: str = "sd"  # or "range": the unit of scaled numbers
    divisor: str = "n"  # or "n-1": divisor of the variance
    nominal: str = "overlap"  # or "mvdm" or "levenshtein": distance of nominal values
    weight: float = 1.0  # factor on the (squared) distance

    def blank(self, given: Nominal, of: Attribute) -> Any:
        """Return the empty tally that the centers are estimated from: moments, values or counts."""
        if isinstance(of, Nominal):
            return Counts((given, of))
        if not isinstance(of, Numeric):
            raise TypeError(of.kind)
        plain = self.center == "mean" and self.metric == "euclidean" and not (self.scaled and self.unit == "range")
        return Moments(given, of) if plain else Values(given, of)

    def estimate(self, tally: Any) -> CenterDensity:
        """Estimate the centers, and the total distance of the training rows from the center of their class."""
        if isinstance(tally, Counts):
            return self._of_nominal(tally)
        return self._of_moments(tally) if isinstance(tally, Moments) else self._of_values(tally)

    def _of_moments(self, tally: Moments) -> CenterDensity:
        n, mean, m2 = tally.triple
        total, middle, overall = tally.overall
        _refuse_tiny(tally.of.name, mean[n > 0])
        scale = self._scale(self._deviation(float(overall), float(total)))
        means = np.where(n > 0, mean, middle)
        return CenterDensity(tally.of, means, n, float(m2.sum()) / scale**2, scale, self)

    def _of_values(self, tally: Values) -> CenterDensity:
        pooled, pooled_weights = tally.pooled
        _refuse_tiny(tally.of.name, pooled)
        n = np.array([float(weights.sum()) for _, weights in tally.filled])
        away, centers = 0.0, []
        for values, weights in tally.filled:
            own = self._center(*(pooled, pooled_weights) if len(values) == 0 else (values, weights))
            centers.append(own)
            differences = np.abs(values - own)
            away += float((weights * (differences**2 if self.metric == "euclidean" else differences)).sum())
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
        if not k:  # every value is missing
            return CenterDensity(of, np.zeros(len(n)), n, 0.0, 1.0, self)
        if self.nominal == "levenshtein":
            return self._of_strings(of, table, n)
        apart = None
        if self.nominal == "mvdm" and not (isinstance(of, Ordinal) and self.scaled):
            apart = np.nan_to_num(mvdm(table.T), nan=2.0)
        table = np.where(n[:, None] > 0, table, table.sum(axis=0))
        codes = np.arange(k, dtype=np.float64)
        centers, scale = np.argmax(table, axis=1).astype(np.float64), 1.0
        if apart is not None:
            differences = apart[:, centers.astype(np.intp)].T
        elif isinstance(of, Ordinal):
            centers = np.array([_median_code(row) for row in table])
            scale = float(max(k - 1, 1)) if self.scaled else 1.0
            differences = np.abs(codes - centers[:, None]) / scale
        else:
            differences = (codes != centers[:, None]).astype(np.float64)
        differences = differences**2 if self.metric == "euclidean" else differences
        return CenterDensity(of, centers, n, float((table * differences)[n > 0].sum()), scale, self, apart)

    def _of_strings(self, of: Any, table: Floats, n: Floats) -> CenterDensity:
        """Return the medoid of each class: the string with the smallest sum of edit distances to the class."""
        strings = tuple(map(string_of, of.values))
        longest = max((len(s) for s, many in zip(strings, table.sum(axis=0), strict=True) if many > 0), default=0)
        scale, centers, sums, away = float(max(longest, 1)) if self.scaled else 1.0, [], [], 0.0
        for counts, total in zip(table, n, strict=True):
            weights = counts if total > 0 else table.sum(axis=0)
            own = np.flatnonzero(weights > 0)
            mine, center, least = [strings[i] for i in own], 0, 0.0
            if len(mine):
                totals = _sums_of_distances(mine, weights[own])
                best = int(np.argmin(totals))
                center, least = int(own[best]), float(totals[best])
            centers.append(float(center))
            sums.append(least)
            if total > 0:
                differences = edit_distances(mine, [strings[center]])[:, 0] / scale
                away += float((weights[own] * (differences**2 if self.metric == "euclidean" else differences)).sum())
        return CenterDensity(of, np.array(centers), n, away, scale, self, strings=strings, sums=np.array(sums))

    def _deviation(self, squares: float, n: float) -> float:
        below = n - (self.divisor == "n-1")
        return float(np.sqrt(squares / below)) if below > 0 else 0.0

    def _scale(self, deviation: float) -> float:
        return float(deviation) if self.scaled and deviation > 0 else 1.0


def _sums_of_distances(strings: list[str], weights: Floats) -> Floats:
    """Return the weighted sum of the edit distances of each string to all strings."""
    step = max(1, _CELLS // len(strings))
    parts = [edit_distances(strings[i : i + step], strings) @ weights for i in range(0, len(strings), step)]
    return np.round(np.concatenate(parts), 9).astype(np.float64)  # equal sums of fractional weights are ties


def _refuse_tiny(name: str, values: Floats) -> None:
    """Raise an error for numbers so small that they lose digits."""
    if 0 < np.abs(values).max(initial=0.0) < LEAST_SIZE:
        raise too_small(name, LEAST_SIZE)


def _median_code(counts: Floats) -> float:
    """Return the first code at which the cumulative count reaches half of the rows."""
    if not counts.sum() > 0:
        return 0.0
    return float(np.searchsorted(np.cumsum(counts), counts.sum() / 2))


class CenterDensity(Density):
    """Distances of one column from the center of each class, as terms of a posterior.

    `centers` has a number or a code for each class, and `n` the number of values behind it. `away` is the sum of the
    (squared) distances of all training rows from the center of their class, `scale` the divisor of the distances, and
    `apart` the distances between nominal values. `strings` are the values of an attribute with edit distances, and
    `sums` the sums of the edit distances of each class to its center.
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
        *,
        strings: tuple[str, ...] | None = None,
        sums: Floats | None = None,
    ) -> None:
        self.of, self.name, self.centers, self.n, self.scale = of, of.name, centers, n, scale
        self.away, self.weight, self.apart = away * settings.weight, settings.weight, apart
        self.strings, self.sums = strings, sums
        self.squared = settings.metric == "euclidean"
        self.n_classes = len(centers)
        self.temperature = self.unit = 1.0  # set by the model, equal for all columns
        middle = "median" if isinstance(of, Ordinal) else settings.center
        middle = "most frequent value" if type(of) is Nominal or apart is not None else middle
        middle = "medoid" if strings is not None else middle
        self.rule = f"distance from the {middle} of the class"
        self.scaled = settings.scaled
        # a constant column is excluded, because it would lower the mean distance of all columns
        self.silent = "never seen" if not (n > 0).any() else "constant" if not away and not np.ptp(centers) else ""
        self.silent = self.silent or ("" if settings.weight > 0 else "weight 0")

    @property
    def below(self) -> float:
        """The divisor of the distance in the exponent: 2s², or s."""
        return 2 * self.temperature if self.squared else self.temperature

    def distances(self, column: NDArray[Any]) -> Floats:
        """Return the (squared) distance from each class center, shape (rows, classes); NaN for a missing value.

        A column with edit distances has strings, and None for a missing value.
        """
        if self.strings is not None:
            return self._edited(column.tolist())
        cells = np.asarray(column, dtype=np.float64)
        if isinstance(self.of, Nominal):
            cells = np.where(column >= self.of.missing, np.nan, cells)
        return self.added(cells)

    def added(self, cells: Floats) -> Floats:
        """Return the (squared) distance of numbers or codes from the center of each class; NaN stays NaN."""
        if self.strings is not None:
            return self._edited([self.strings[int(code)] for code in cells])
        if self.apart is not None:
            differences = self.apart[np.nan_to_num(cells).astype(np.intp)][:, self.centers.astype(np.intp)]
            differences[np.isnan(cells)] = np.nan
        elif type(self.of) is Nominal:
            differences = (cells[:, None] != self.centers).astype(np.float64)
            differences[np.isnan(cells)] = np.nan
        else:
            with np.errstate(over="ignore"):
                differences = np.abs(cells[:, None] - self.centers) / self.scale
        with np.errstate(over="ignore"):
            differences = differences / self.unit
            return self.weight * (differences**2 if self.squared else differences)

    def edits(self, strings: Sequence[str]) -> NDArray[np.uint32]:
        """Return the edit distance of each string from the center of each class."""
        return edit_distances(strings, self.prototypes)

    def _edited(self, cells: list[str | None]) -> Floats:
        """Return the (squared) scaled edit distances from the center of each class; NaN for a missing value."""
        different = list(dict.fromkeys(cell for cell in cells if cell is not None))
        places = {cell: i for i, cell in enumerate(different)} | {None: len(different)}
        differences = np.full((len(different) + 1, self.n_classes), np.nan)
        if different:
            differences[:-1] = self.edits(different) / self.scale / self.unit
        differences = self.weight * (differences**2 if self.squared else differences)
        return differences[[places[cell] for cell in cells]]

    def add_log_prob(self, column: NDArray[Any], out: Floats) -> None:
        """Add -d² / 2s², or -d / s, to `out`."""
        if self.silent:
            return
        differences = self.distances(column)
        differences[np.isnan(differences)] = 0.0
        out -= differences / self.below

    def scoring_terms(self, derived: Derived, schema: Schema, tally: Any) -> list[Any]:
        """Raise an error: no scoring term describes distances."""
        raise OptionError(
            "The distances of a PrototypeClassifier cannot be computed by an engine or as SQL.",
            hint="use DiscriminantClassifier(covariance='spherical'), or predict with the rows in memory.",
        )

    def shown(self, code: float) -> str:
        """Return a center or a value as text; "?" if every value is missing."""
        if isinstance(self.of, Nominal) and not self.of.values:
            return "?"
        if self.strings is not None:
            return self.strings[int(code)]
        return str(self.of.values[int(code)]) if isinstance(self.of, Nominal) else cell(float(code))

    def steps(self, name: str, column: NDArray[Any], shown: str) -> list[Step]:
        """Return the step with the factor of each class at the value."""
        differences = self.distances(column)[0]
        if np.isnan(differences).any():
            unseen = self.strings is None and isinstance(self.of, Nominal) and int(column[0]) == self.of.unseen
            return left_out_step(name, shown or "?", "never seen" if unseen else "missing", self.rule)
        if self.silent:
            return left_out_step(name, shown, self.silent, self.rule)
        factors = []
        for d, n in zip(differences.tolist(), self.n.tolist(), strict=True):
            power = f"-{number(d)} / {number(self.below)}"
            factors.append(Factor(-d / self.below, f"exp({power})", rf"e^{{{power}}}", total=n))
        return [Step(name, shown, tuple(factors), "known", self.rule)]

    def summary(self, classes: Sequence[Any]) -> dict[str, list[Any]]:
        """Return the center of each class as columns of a table."""
        return {self.name: [str(c) for c in classes], "prototype": self.prototypes, "n": self.n.tolist()}

    def draw(self, c: int, size: int, rng: np.random.Generator) -> NDArray[Any]:
        """Draw values of class c; the density falls with the (squared) distance from the center."""
        if isinstance(self.of, Nominal):
            k = len(self.of.values)
            logs = np.zeros(k) if self.silent else -self.added(np.arange(k, dtype=np.float64))[:, c] / self.below
            p = np.exp(logs - logs.max(initial=-np.inf))
            codes = rng.choice(k, size=size, p=p / p.sum()) if k else np.zeros(size, dtype=np.int64)
            return self.of.decode(codes)
        center, unit = float(self.centers[c]), self.scale * self.unit
        if self.silent:
            return np.full(size, center if (self.n > 0).any() else np.nan)
        if self.squared:
            return np.asarray(rng.normal(center, unit * np.sqrt(self.temperature / self.weight), size))
        return np.asarray(rng.laplace(center, unit * self.temperature / self.weight, size))

    @property
    def prototypes(self) -> list[Any]:
        """The center of each class: a number, or a value."""
        return [self.shown(m) if isinstance(self.of, Nominal) else float(m) for m in self.centers]


_CELLS = 1 << 22  # most edit distances that are computed at once
_SHARP = 1e-6  # s² as a fraction of the distance between prototypes, if every row equals its prototype


@dataclass(eq=False, repr=False)
class PrototypeClassifier(GenerativeClassifier):
    """Nearest prototype classifier: each class is represented by its center, such as its mean.

    .. math:: P(c | x) ∝ P(c) exp(-d(x, m_c)² / 2s²), or P(c) exp(-d(x, m_c) / s) with the Manhattan metric

    where m_c is the prototype of class c, and s² (or s) is the mean squared (or absolute) distance of the training
    rows from their own prototype, per column. With a uniform prior the nearest prototype is predicted. With the
    Euclidean metric and only numeric columns the posterior equals that of ``DiscriminantClassifier('spherical',
    prior='uniform')``.

    Parameters
    ----------
    center : {'mean', 'median'}, default='mean'
        Center of numeric columns. The center of a nominal column is its most frequent value, that of an ordinal
        column its median. With edit distances (``DistanceMetric(nominal="levenshtein")``) it is the medoid: the
        training string of the class with the smallest sum of distances to the strings of the class; ties go to the
        first string.
    metric : {'euclidean', 'manhattan'} or DistanceMetric, default='euclidean'
        'euclidean' sums squared differences, 'manhattan' absolute differences; nominal values differ by 0 or 1. A
        `DistanceMetric` with p = 1 or p = 2 defines the local distance and the weight of each column. Missing values
        contribute 0.
    scale : {'auto', 'deviation', None}, default='auto'
        'deviation': numbers are divided by the standard deviation of their column, and ordinal codes are scaled to
        [0, 1]. None: no scaling. 'auto': 'deviation' if there are nominal columns, else None. A `DistanceMetric`
        defines its own scales, so that 'deviation' raises an error.
    prior : {'uniform', 'raw'}, mapping or array-like, default='uniform'
        P(class). 'uniform': equal for all classes, so that the nearest prototype is predicted. 'raw': the class
        frequencies. A mapping or array gives the probabilities. A class without rows has probability 0 in any case.
    types : mapping of column to type, str or Schema, optional
        Types of the columns, where the dtypes do not determine them.
    unseen : {'ignore', 'error'}, default='ignore'
        Treatment of a value never seen in training. 'ignore': it is treated as missing. 'error': it raises an error.

    Attributes
    ----------
    classes_ : ndarray
        The classes, sorted.
    prototypes_ : Grid
        The prototype of each class.
    left_out_ : dict of str to str
        Excluded columns, and the reason for each.
    class_prior_ : ndarray
        P(class).
    log_prior_ : ndarray
        The logarithm of P(class).
    class_count_ : ndarray
        Number of training rows (or their weight) in each class.
    densities_ : dict
        For each column: the centers of the classes, and the distances from them.
    terms_ : list of Term
        The columns that are used, and how each is compared.
    tallies_ : dict
        The learned counts and moments.
    schema_ : Schema
        The type and the values of each column.
    target_ : Nominal
        The name of the target and its classes.
    n_rows_ : int
        Number of training rows.
    n_left_out_ : int
        Number of rows skipped because their target is missing.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of str
        Names of the columns seen in `fit`, if the table has column names.

    Examples
    --------
    >>> from countwise import PrototypeClassifier, samples
    >>> weather = samples.load("weather").columns("temperature", "humidity", "play")
    >>> model = PrototypeClassifier().fit(weather, "play")
    >>> model.distances([[66, 90]]).round(6).tolist(), model.predict([[66, 90]]).tolist()
    ([[9.402127, 12.944802]], ['no'])

    Strings are compared by their edit distance:

    >>> from countwise.neighbors import DistanceMetric
    >>> metric = DistanceMetric("manhattan", nominal="levenshtein", numeric="none")
    >>> names = {"name": ["Meier", "Mayer", "Maier", "Schmidt", "Schmitt", "Schmid"]}
    >>> model = PrototypeClassifier(metric=metric).fit(names, ["m", "m", "m", "s", "s", "s"])
    >>> model.prototypes_["name"], model.distances({"name": ["Mair", "Schmied"]}).tolist()
    (['Maier', 'Schmidt'], [[1.0, 6.0], [5.0, 2.0]])
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
        elif isinstance(self.metric, str) and self.metric not in ("euclidean", "manhattan"):
            raise OptionError(
                f"metric must be 'euclidean', 'manhattan' or a DistanceMetric, not {self.metric!r}.",
                hint=metric_hint(self.metric) or "use 'euclidean' or 'manhattan'.",
            )
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
        self._unit = 1.0 if not extent or 1e-100 < extent < 1e100 else extent  # squares must not over- or underflow
        for density in used:
            density.unit = self._unit
        # mean distance of the rows from their prototype, per column; if it is 0, the nearest class gets posterior 1
        cells = sum(float(d.n.sum()) for d in used)
        away = sum(d.away / d.unit / (d.unit if d.squared else 1.0) for d in used)
        spread = away / cells if cells else 0.0
        temperature = spread if spread > 0 else _SHARP * self._apart()
        for density in used:
            density.temperature = temperature

    def _table(self, frame: Frame, start: int, stop: int, *, every: bool = False) -> Table:
        table = super()._table(frame, start, stop, every=every)
        for part in self.terms_:
            if self.densities_[part.key].strings is not None:  # strings that were never seen have a distance too
                cells = Edits(part.of, 1.0, 1.0, 1.0).lay(None, frame.slice(start, stop).columns[part.key])
                strings = np.array([*cells.values, None], dtype=object)
                table = table.with_column(part.key, strings[np.minimum(cells.column, len(cells.values))])
        return table

    def _apart(self) -> float:
        """Return the mean (squared) distance between prototypes."""
        total = np.zeros((len(self.classes_), len(self.classes_)))
        for density in self.densities_.values():
            total += density.added(density.centers)
        return float(total.mean()) or 1.0

    def _portrait(self, c: int) -> list[tuple[str, Any, str]]:
        return [
            (name, d.prototypes[c], d.rule.removeprefix("distance from the ").removesuffix(" of the class"))
            for name, d in self.densities_.items()
        ]

    def _numbers_to_try(self, name: str) -> Any:
        density = self.densities_[name]
        if density.silent:
            return None
        away = 3 * density.scale * density.unit
        return np.linspace(density.centers.min() - away, density.centers.max() + away, 61).tolist()

    def _posterior_draws(self, one: Frame, draws: int, rng: np.random.Generator) -> Floats:
        raise OptionError(
            "PrototypeClassifier has no intervals: its probabilities follow from distances, not from a distribution "
            "of the rows.",
            hint="use DiscriminantClassifier(covariance='spherical').",
        )

    @property
    def prototypes_(self) -> Grid:
        """The prototype of each class."""
        self._check_fitted()
        cells = {name: density.prototypes for name, density in self.densities_.items()}
        return Grid({self.target_.name: self.classes_.tolist(), **cells})

    def distances(self, X: Any) -> Floats:
        """Compute the distance of each row from the prototype of each class; a missing value contributes 0.

        Parameters
        ----------
        X : table
            Rows. Columns are matched by name, or by position if X is an array.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            The distances, in the order of `classes_`.

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
            differences = density.distances(cells)[0]
            if np.isnan(differences).any() or density.silent:
                continue
            total += differences
            columns[""].append(part.key)
            columns["value"].append(cells[0] if density.strings is not None else density.shown(float(cells[0])))
            for c in shown:
                columns[f"prototype {working.classes[c]}"].append(density.shown(density.centers[c]))
                columns[f"{what} {working.classes[c]}"].append(float(differences[c]))
        if not columns[""]:
            return []
        ends = np.sqrt(total) if squared else total
        away = ", ".join(f"{working.classes[c]} {number(float(ends[c] * self._unit))}" for c in shown)
        one = next(d for d in self.densities_.values() if not d.silent)
        divisor, square = ("2s²", " squared") if squared else ("s", "")
        source = f"the mean{square} distance of the training rows from their prototype, per column"
        lines = [f"distance: {away}", f"{divisor} = {number(one.below)}, from {source}"]
        shares = np.array(columns[f"{what} {working.classes[working.rival]}"], dtype=np.float64)
        if not one.scaled and len(shares) > 1 and shares.max() > 0.9 * shares.sum() > 0:
            name = columns[""][int(np.argmax(shares))]
            lines.append(
                f"Numbers are not scaled, and {name} accounts for more than 90 % of the distance; "
                "scale='deviation' gives columns comparable weight."
            )
        scaled = {k: d for k, d in self.densities_.items() if d.scale != 1 and d.strings is None}
        if scaled:
            scales = ", ".join(f"{k} {number(d.scale)}" for k, d in scaled.items())
            unit = "scale" if isinstance(self.metric, DistanceMetric) else "standard deviation"
            lines.append(f"Numbers are divided by the {unit} of their column: {scales}")
        edited = [self._edits(part.key, table[part.key][0], working, shown) for part in self.terms_
                  if part.key in columns[""] and self.densities_[part.key].strings is not None]  # fmt: skip
        return [Section("Distance from each prototype", Grid(columns), tuple(lines)), *edited]

    def _edits(self, name: str, cell: str, working: Working, shown: Sequence[int]) -> Section:
        """Return the section with the edit distances of a string from the prototypes."""
        density = self.densities_[name]
        edits, scale = density.edits([cell])[0].tolist(), density.scale
        grid = Grid(
            {
                "class": [working.classes[c] for c in shown],
                "prototype": [density.prototypes[c] for c in shown],
                "edits": [edits[c] for c in shown],
                "d": [
                    edits[c] if scale == 1 else Worked(edits[c] / scale, f"{edits[c]}/{number(scale)}") for c in shown
                ],
                "sum of edits in the class": [float(density.sums[c]) for c in shown],
            }
        )
        lines = ["The prototype of a class is its string with the smallest sum of edit distances to the others."]
        if scale != 1:
            lines.append(f"Edit distances are divided by the length of the longest training string: {number(scale)}")
        return Section(f"Edit distances of {name}", grid, tuple(lines))


def _check_metric(metric: DistanceMetric, scale: Any) -> None:
    """Raise an error for a metric that is not defined for prototypes."""
    metric._check_settings()
    if metric._power() not in (1.0, 2.0):
        raise OptionError(f"The metric of a PrototypeClassifier must have p=1 or p=2, not p={metric.p!r}.")
    if scale not in (None, "auto"):
        raise OptionError(
            f"scale={scale!r} cannot be combined with a DistanceMetric, which defines the scale of each column.",
            hint="use DistanceMetric(numeric='sd').",
        )
    if metric.unit_length or metric.numeric == "mvdm" or isinstance(metric.weights, str):
        raise OptionError(
            "The metric of a PrototypeClassifier must not have unit length (unit_length=True), numeric='mvdm', "
            "or weights by a measure.",
            hint="use DistanceMetric(numeric='range', weights={column: number}).",
        )


def _class_center(center: str, metric: DistanceMetric, a: Attribute) -> ClassCenters:
    """Return the rule for the center of an attribute, from the metric."""
    column_type = "ordinal" if isinstance(a, Ordinal) else "nominal" if isinstance(a, Nominal) else "numeric"
    rule = (metric.attributes or {}).get(a.name) or getattr(metric, column_type)
    options = {
        "numeric": ("range", "sd", "none"),
        "ordinal": ("steps", "mvdm", "levenshtein"),
        "nominal": ("overlap", "mvdm", "levenshtein"),
    }
    known = options[column_type]
    if rule not in known:
        raise OptionError(
            f"The distance {rule!r} of column {a.name!r} is not available in a PrototypeClassifier.",
            hint=f"use one of {listed(known)}.",
        )
    weights = metric.weights if isinstance(metric.weights, Mapping) else {}
    return ClassCenters(
        center,
        "euclidean" if metric._power() == 2 else "manhattan",
        scaled=rule in ("range", "sd") or (rule in ("steps", "levenshtein") and metric.numeric != "none"),
        unit="range" if rule == "range" else "sd",
        divisor=metric.divisor,
        nominal=rule if rule in ("mvdm", "levenshtein") else "overlap",
        weight=float(weights.get(a.name, 1.0)),
    )
