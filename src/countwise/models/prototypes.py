"""Nearest prototype: each class is its middle, and a row belongs to the nearest (001, 003)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from countwise._typing import Floats
from countwise.attributes import Attribute, Nominal, Ordinal
from countwise.conditionals.prototype import Middle
from countwise.distances.metric import Metric
from countwise.errors import OptionError, check_settings, listed
from countwise.frames import Frame
from countwise.models._bayes import Bayes
from countwise.models._explaining import Explaining
from countwise.parts import Part, numbers_and_names
from countwise.schema import Schema
from countwise.table import Table
from countwise.working import Grid, Section, Working
from countwise.working.numbers import number
from countwise.working.text import columns as classes_shown

__all__ = ["Prototype"]

_SHARP = 1e-6  # of the distances between prototypes: where rows have no spread the nearest takes all


class Prototype(Explaining, Bayes):
    """Nearest mean or prototype; see `PrototypeClassifier`."""

    def __init__(
        self,
        center: str = "mean",
        *,
        metric: Any = "euclidean",
        scale: str | None = "auto",
        prior: Any = "uniform",
        types: Any = None,
        unseen: str = "ignore",
    ) -> None:
        self.center = center
        self.metric = metric
        self.scale = scale
        self.prior = prior
        self.types = types
        self.unseen = unseen

    def _kinds(self, frame: Frame) -> Schema:
        check_settings(self, center=("mean", "median"), scale=(None, "auto", "deviation"), unseen=("ignore", "error"))
        if isinstance(self.metric, Metric):
            _check_metric(self.metric, self.scale)
        else:
            check_settings(self, metric=("euclidean", "manhattan"))
        types = self.metric.types if isinstance(self.metric, Metric) and self.types is None else self.types
        return numbers_and_names(Schema.kinds(frame, types), "a prototype")

    def _parts(self, schema: Schema, target: str) -> list[Part]:
        if isinstance(self.metric, Metric):
            return [Part(a, _middle(self.center, self.metric, a), (a.name,)) for a in schema.attributes]
        names = any(isinstance(a, Nominal) and not self._is_unknown(a) for a in schema.attributes)
        rule = Middle(self.center, self.metric, self.scale == "deviation" or (self.scale == "auto" and names))
        return [Part(a, rule, (a.name,)) for a in schema.attributes]

    def _settle(self) -> None:
        super()._settle()
        self.left_out_ = {name: d.silent for name, d in self.densities_.items() if d.silent}
        telling = [d for d in self.densities_.values() if not d.silent]
        extent = max((float(np.ptp(d.middles)) / d.scale for d in telling), default=0.0)
        self._unit = 1.0 if not extent or 1e-100 < extent < 1e100 else extent  # so that squares stay numbers
        for density in telling:
            density.unit = self._unit
        # rows lie this far from their own prototype, a column; where they do not, the nearest takes all
        cells = sum(float(d.n.sum()) for d in telling)
        away = sum(d.away / d.unit / (d.unit if d.squared else 1.0) for d in telling)
        spread = away / cells if cells else 0.0
        temperature = spread if spread > 0 else _SHARP * self._apart()
        for density in telling:
            density.temperature = temperature

    def _apart(self) -> float:
        """The mean (squared) distance between prototypes."""
        total = np.zeros((len(self.classes_), len(self.classes_)))
        for density in self.densities_.values():
            gaps = density.gaps(density.middles) / density.unit
            total += density.weight * (gaps**2 if density.squared else gaps)
        return float(total.mean()) or 1.0

    @property
    def prototypes_(self) -> Grid:
        """The prototype of each class."""
        self._check_fitted()
        cells = {
            name: [density.shown(m) if isinstance(density.of, Nominal) else float(m) for m in density.middles]
            for name, density in self.densities_.items()
        }
        return Grid({self.target_.name: self.classes_.tolist(), **cells})

    def distances(self, X: Any) -> Floats:
        """The distance of each row from each class's prototype; a missing cell adds nothing.

        Parameters
        ----------
        X : any table
            Columns are found by name, or by place in an array.

        Returns
        -------
        ndarray, shape (rows, classes)

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
        for part in self.parts_:
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
        for part in self.parts_:
            density, cells = self.densities_[part.key], table[part.key]
            gaps = density.distances(cells)[0]
            if np.isnan(gaps).any() or density.silent:
                continue
            total += gaps
            columns[""].append(part.key)
            columns["value"].append(density.shown(float(cells[0])))
            for c in shown:
                columns[f"prototype {working.classes[c]}"].append(density.shown(density.middles[c]))
                columns[f"{what} {working.classes[c]}"].append(float(gaps[c]))
        if not columns[""]:
            return []
        ends = np.sqrt(total) if squared else total
        lines = [
            "distance: " + ", ".join(f"{working.classes[c]} {number(float(ends[c] * self._unit))}" for c in shown)
        ]
        one = next(d for d in self.densities_.values() if not d.silent)
        lines.append(
            f"{'2s²' if squared else 's'} = {number(one.temperature * (2 if squared else 1))}, from the mean"
            f"{' squared' if squared else ''} distance of the training rows from their own prototype, a column"
        )
        shares = np.array(columns[f"{what} {working.classes[working.rival]}"], dtype=np.float64)
        if not one.scaled and len(shares) > 1 and shares.max() > 0.9 * shares.sum() > 0:
            name = columns[""][int(np.argmax(shares))]
            lines.append(
                f"Numbers are taken as they are, and {name} is most of it; scale='deviation' evens columns out."
            )
        if any(d.scale != 1 for d in self.densities_.values()):
            told = ", ".join(f"{k} {number(d.scale)}" for k, d in self.densities_.items() if d.scale != 1)
            unit = "units" if isinstance(self.metric, Metric) else "deviations of their column"
            lines.append(f"Numbers are in {unit}: {told}")
        return [Section("Distance from each prototype", Grid(columns), tuple(lines))]


def _check_metric(metric: Metric, scale: Any) -> None:
    """Refuse what has no meaning for the middle of a class."""
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


def _middle(center: str, metric: Metric, a: Attribute) -> Middle:
    """How an attribute is compared with the middle of a class."""
    kind = "ordinal" if isinstance(a, Ordinal) else "nominal" if isinstance(a, Nominal) else "numeric"
    rule = (metric.attributes or {}).get(a.name) or getattr(metric, kind)
    known = {"numeric": ("range", "sd", "none"), "ordinal": ("steps", "mvdm"), "nominal": ("overlap", "mvdm")}[kind]
    if rule not in known:
        raise OptionError(f"A prototype of {a.name!r} cannot be compared by {rule!r}.", hint=f"give {listed(known)}.")
    weights = metric.weights if isinstance(metric.weights, Mapping) else {}
    return Middle(
        center,
        "euclidean" if metric._power() == 2 else "manhattan",
        scaled=rule in ("range", "sd") or (rule == "steps" and metric.numeric != "none"),
        unit="range" if rule == "range" else "sd",
        divisor=metric.divisor,
        names="mvdm" if rule == "mvdm" else "overlap",
        weight=float(weights.get(a.name, 1.0)),
    )
