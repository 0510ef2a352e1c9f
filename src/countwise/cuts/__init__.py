"""Discretization methods: the cut points of a numeric attribute, and the reason for each.

Each method takes the values of each class and returns the inner bin edges (cut points) of the bins (lo, hi]. A weight
of n counts as n equal rows, and the order of the rows does not matter. To add a method, write a function and add it
to `METHODS`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from countwise._typing import Floats
from countwise.cuts._base import CutReport, Cuts, codes_in, labels, midway
from countwise.cuts.n_bins import best_number
from countwise.cuts.supervised import class_contiguous, mdl, min_n
from countwise.cuts.unsupervised import edges_of, equal_frequency, equal_width, given, kmeans, naive, quantiles
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
    "mdl",
    "midway",
    "min_n",
    "naive",
    "quantiles",
    "rule_of",
]

COUNTED: dict[str, Callable[[Values, int], Cuts]] = {
    "equal_frequency": equal_frequency,
    "equal_width": equal_width,
    "kmeans": kmeans,
}
SUPERVISED = ("class_contiguous", "mdl", "min_n")
METHODS = (*COUNTED, "naive", *SUPERVISED)
_MOST_BINS = 1_000_000
_ALIASES = {"quantile": "equal_frequency", "uniform": "equal_width", "entropy_mdl": "mdl", "mdlp": "mdl"}


def rule_of(spec: Any, *settings: Any) -> CutRule:
    """Return a discretization rule from a rule, a binned distribution, or a method or cut points with settings."""
    return spec if isinstance(spec, CutRule) else getattr(spec, "how", None) or CutRule(spec, *settings)


@dataclass(frozen=True, slots=True)
class CutRule:
    """Discretization method with its settings."""

    method: Any = "equal_frequency"  # one of `METHODS`, or the cut points themselves
    n_bins: Any = 10  # the number of bins, or "leave_one_out", for the methods in `COUNTED`
    n: Any = 6  # for "min_n": the number of rows of one class that a bin must hold
    merge: str | None = None  # for "min_n": which bins are merged afterwards

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

    @property
    def supervised(self) -> bool:
        """Whether the method uses the class."""
        return self.method in SUPERVISED

    def __str__(self) -> str:
        if not isinstance(self.method, str):
            return "hand"
        if self.method == "min_n":
            return f"min_n, n = {self.n:g}{f', merge = {self.merge}' if self.merge else ''}"
        return self.method

    def cut(self, tally: Values) -> Cuts:
        """Return the cut points of a tally of values, with the reason for each."""
        if not isinstance(self.method, str):
            return given(tally, self.method)
        if self.method in COUNTED:
            rule = COUNTED[self.method]
            return best_number(rule, tally) if self.n_bins == "leave_one_out" else rule(tally, int(self.n_bins))
        rules: dict[str, Callable[[Values], Cuts]] = {
            "naive": naive,
            "class_contiguous": class_contiguous,
            "mdl": mdl,
            "min_n": partial(min_n, n=float(self.n), merge=self.merge),
        }
        return rules[self.method](tally)
