"""Discretization methods: the cut points of a numeric attribute, and the reason for each.

Each method takes the values of each class and returns the inner bin edges (cut points) of the bins (lo, hi]. A weight
of n counts as n equal rows, and the order of the rows does not matter. To add a method, write a function and add it
to `METHODS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

import numpy as np

from countwise._typing import Floats
from countwise.cuts._base import CutReport, Cuts, codes_in, labels, midway
from countwise.cuts.methods import (
    best_number,
    class_contiguous,
    edges_of,
    equal_frequency,
    equal_width,
    given,
    kmeans,
    lloyd,
    mdl,
    min_n,
    naive,
    quantiles,
)
from countwise.errors import NumberIn, OptionError, check_value, did_you_mean, listed
from countwise.tallies import Values

__all__ = [
    "COUNTED",
    "METHODS",
    "SUPERVISED",
    "CutReport",
    "CutRule",
    "Cuts",
    "Floats",
    "best_number",
    "class_contiguous",
    "codes_in",
    "equal_frequency",
    "equal_width",
    "given",
    "kmeans",
    "labels",
    "lloyd",
    "mdl",
    "midway",
    "min_n",
    "naive",
    "quantiles",
    "rule_of",
    "settings_of",
]

COUNTED: dict[str, Callable[[Values, int], Cuts]] = {
    "equal_frequency": equal_frequency,
    "equal_width": equal_width,
    "kmeans": kmeans,
    "lloyd": lloyd,
}
SUPERVISED = ("class_contiguous", "mdl", "min_n")
METHODS = (*COUNTED, "naive", *SUPERVISED)
_MOST_BINS = 1_000_000
_ALIASES = {"quantile": "equal_frequency", "uniform": "equal_width", "entropy_mdl": "mdl", "mdlp": "mdl"}


def rule_of(spec: Any, **settings: Any) -> CutRule:
    """Return a discretization rule from a rule, a binned distribution, or a method or cut points with settings."""
    return spec if isinstance(spec, CutRule) else getattr(spec, "how", None) or CutRule(spec, **settings)


def settings_of(of: Any) -> dict[str, Any]:
    """Return the settings of a discretization rule, or of an object that has all of them as attributes."""
    return {f.name: getattr(of, f.name) for f in fields(CutRule)}


@dataclass(frozen=True, slots=True)
class CutRule:
    """Discretization method with its settings."""

    method: Any = "equal_frequency"  # one of `METHODS`, or the cut points themselves
    n_bins: Any = 10  # the number of bins, or "leave_one_out", for the methods in `COUNTED`
    n: Any = 6  # for "min_n": the number of rows of one class that a bin must hold
    merge: str | None = None  # for "min_n": which bins are merged afterwards
    min_size: Any = None  # for "class_contiguous": the number of rows that a bin must hold
    labels: Any = None  # the names of the bins
    init: Any = "random"  # for "lloyd": the first centers
    n_init: Any = 10  # for "lloyd": the number of random starts
    random_state: Any = 0  # for "lloyd": the seed of the random starts

    def __post_init__(self) -> None:
        if isinstance(self.method, str):
            object.__setattr__(self, "method", _ALIASES.get(self.method, self.method))
            if self.method not in METHODS:
                raise OptionError(
                    f"There is no discretization method {self.method!r}.",
                    hint=did_you_mean(self.method, METHODS)
                    or f"use one of {listed(METHODS)}, or a list of cut points.",
                )
        elif isinstance(self.method, Sequence | np.ndarray):
            object.__setattr__(self, "method", tuple(edges_of(self.method).tolist()))
        else:
            raise OptionError(f"method must be a discretization method or a list of cut points, not {self.method!r}.")
        check_value("n_bins", self.n_bins, NumberIn(1, _MOST_BINS, whole=True, words=("leave_one_out",)))
        check_value("n", self.n, NumberIn(0, strict=True))
        check_value("merge", self.merge, (None, "majority", "last"))
        check_value("min_size", self.min_size, NumberIn(0, strict=True, words=(None,)))
        check_value("n_init", self.n_init, NumberIn(1, 10_000, whole=True))
        check_value("random_state", self.random_state, NumberIn(0, 2**32 - 1, whole=True))
        if isinstance(self.init, Sequence | np.ndarray) and not isinstance(self.init, str) and len(self.init):
            object.__setattr__(self, "init", tuple(edges_of(self.init, "centers").tolist()))
        elif not (isinstance(self.init, str) and self.init == "random"):
            raise OptionError(f"init must be 'random' or a list of centers, not {self.init!r}.")
        if self.labels is not None:
            object.__setattr__(self, "labels", _names_of(self.labels))
            if not isinstance(self.method, str):
                n = len(self.method)
                self._check_labels(n + 1, f"{n} cut point{'s' * (n != 1)} make{'s' * (n == 1)}")

    def _check_labels(self, n_bins: int, where: str) -> None:
        if len(self.labels) != n_bins:
            raise OptionError(
                f"labels has {len(self.labels)} names ({listed(self.labels)}), "
                f"but {where} {n_bins} bin{'s' * (n_bins > 1)}.",
                hint=f"pass {n_bins} name{'s' * (n_bins > 1)}, or change the cut points.",
            )

    @property
    def supervised(self) -> bool:
        """Whether the method uses the class."""
        return self.method in SUPERVISED

    def __str__(self) -> str:
        if not isinstance(self.method, str):
            return "hand"
        if self.method == "min_n":
            return f"min_n, n = {self.n:g}{f', merge = {self.merge}' if self.merge else ''}"
        if self.method == "class_contiguous" and self.min_size is not None:
            return f"class_contiguous, min_size = {self.min_size:g}"
        return self.method

    def cut(self, tally: Values) -> Cuts:
        """Return the cut points of a tally of values, with the reason for each and the names of the bins."""
        cuts = self._cut(tally)
        if self.labels is None or not tally.n.any():
            return cuts
        self._check_labels(len(cuts.edges) + 1, f"{tally.of.name!r} has")
        return replace(cuts, names=self.labels)

    def _cut(self, tally: Values) -> Cuts:
        if not isinstance(self.method, str):
            return given(tally, self.method)
        if self.method in COUNTED:
            rule = COUNTED[self.method]
            if self.method == "lloyd":
                rule = partial(lloyd, init=self.init, n_init=int(self.n_init), random_state=int(self.random_state))
            return best_number(rule, tally) if self.n_bins == "leave_one_out" else rule(tally, int(self.n_bins))
        rules: dict[str, Callable[[Values], Cuts]] = {
            "naive": naive,
            "class_contiguous": partial(
                class_contiguous, min_size=None if self.min_size is None else float(self.min_size)
            ),
            "mdl": mdl,
            "min_n": partial(min_n, n=float(self.n), merge=self.merge),
        }
        return rules[self.method](tally)


def _names_of(labels: Any) -> tuple[str, ...]:
    """Validate names of bins: distinct texts that are not empty."""
    names = tuple(labels) if isinstance(labels, Iterable) and not isinstance(labels, str | Mapping) else ()
    if not names or not all(isinstance(name, str) and name for name in names):
        raise OptionError(
            f"labels must be a list of names, not {labels!r}.", hint="for example ('low', 'medium', 'high')."
        )
    if len(set(names)) < len(names):
        raise OptionError(f"The labels {listed(names)} must be distinct.")
    return tuple(str(name) for name in names)
