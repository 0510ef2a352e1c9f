"""Small mixed tables for the laws: every kind of column, with gaps, weights and classes that come late."""

from __future__ import annotations

import dataclasses
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import Phase, settings
from hypothesis import strategies as st

from countwise import Binned, Gaussian, Kernel, MEstimate, Multinomial, NaiveBayesClassifier
from countwise.errors import DataWarning

WORDS = ("send", "us", "review", "password", "über")
NOMINAL = ("u", "v", "w", "ü")
CLASSES = ("maybe", "no", "yes")
TYPES = {"nominal": "nominal", "number": "numeric", "count": "count", "text": "text"}

# Explaining a failure takes hypothesis longer than finding it; the minimal example is enough.
_PHASES = (Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink)
# `COUNTWISE_LAWS=20 make test ARGS=tests/laws` looks twenty times as long.
TIMES = int(os.environ.get("COUNTWISE_LAWS", "1"))


def examples(count: int) -> settings:
    return settings(deadline=None, max_examples=count * TIMES, phases=_PHASES)


few, some, many = examples(4), examples(8), examples(30)

# Eighths are exact in binary: a column is either constant to the last bit or spreads by at least 1/8.
eighths = st.integers(-80, 80).map(lambda k: k / 8)


@dataclass(frozen=True)
class Law:
    """A law with the columns it is tried on: name of the column to its kind and conditional."""

    columns: dict[str, tuple[str, Any]]
    settings: dict[str, Any] = dataclasses.field(default_factory=dict)

    def model(self, **changes: Any) -> NaiveBayesClassifier:
        types = {name: TYPES[kind] for name, (kind, _) in self.columns.items()}
        laws = {name: conditional for name, (_, conditional) in self.columns.items()}
        return NaiveBayesClassifier(laws, **{"types": types, **self.settings, **changes})


def twice(kind: str, conditional: Any, **settings: Any) -> Law:
    return Law({"a": (kind, conditional), "b": (kind, conditional)}, settings)


DISTRIBUTIONS: dict[str, Law] = {
    "categorical": twice("nominal", "categorical"),
    "categorical, m-estimate": twice("nominal", "categorical", smoothing=MEstimate(2.0, "global")),
    "bernoulli of text": twice("text", "bernoulli"),
    "bernoulli of numbers": twice("number", "bernoulli"),
    "multinomial of text": twice("text", "multinomial"),
    "multinomial of counts": twice("count", "multinomial"),
    "gaussian": twice("number", "gaussian"),
    "gaussian over n": twice("number", Gaussian("n")),
    "poisson": twice("count", "poisson"),
    "kernel, silverman": twice("number", Kernel()),
    "kernel, scott": twice("number", Kernel("scott")),
    "kernel, leave-one-out": twice("number", Kernel("leave_one_out")),
    "kernel, given": twice("number", Kernel(1.5)),
    "ranges, equal frequency": twice("number", Binned("equal_frequency", 3)),
    "ranges, equal width": twice("number", Binned("equal_width", 4)),
    "ranges, each value": twice("number", Binned("naive")),
    "auto": twice("number", "auto"),
    "auto of counts": twice("count", "auto"),
    "mixed": Law(
        {
            "wind": ("nominal", "categorical"),
            "temp": ("number", "gaussian"),
            "rain": ("number", "kernel"),
            "years": ("count", "poisson"),
            "mail": ("text", "multinomial"),
        }
    ),
}
COUNTED = (
    "categorical",
    "categorical, m-estimate",
    "bernoulli of text",
    "bernoulli of numbers",
    "multinomial of text",
    "multinomial of counts",
)
BY_COLUMN = [name for name in DISTRIBUTIONS if name != "multinomial of counts"]  # each column is a factor of its own
EXPLAINED = {
    **DISTRIBUTIONS,
    "categorical, raw": twice("nominal", "categorical", smoothing=0),
    "categorical, a share for the unseen": twice("nominal", "categorical", unseen="share"),
    "bernoulli of text, raw": twice("text", "bernoulli", smoothing=0),
    "bernoulli of text, capped": twice("text", {"kind": "bernoulli", "cap": 0.5}),
    "multinomial of text, raw": twice("text", "multinomial", smoothing=0),
    "multinomial of text, capped": twice("text", Multinomial(cap=0.5, repeats=1)),
    "multinomial of text, with 1/m!": twice("text", Multinomial(coefficient=True)),
    "multinomial of text, with 1/m! of few words": twice("text", Multinomial(coefficient=True, max_words=2)),
    "poisson, raw": twice("count", "poisson", smoothing=0),
    "missing is a value": twice("nominal", "categorical", missing="value"),
    "prior smoothed": twice("nominal", "categorical", prior="smoothed"),
    "prior uniform": twice("number", "gaussian", prior="uniform"),
}


@dataclass(frozen=True)
class Rows:
    """Columns, classes and whole weights of one table."""

    frame: dict[str, np.ndarray]
    y: np.ndarray
    weights: np.ndarray

    def __len__(self) -> int:
        return len(self.y)

    def take(self, which: Any) -> Rows:
        which = np.asarray(which)
        return Rows({k: v[which] for k, v in self.frame.items()}, self.y[which], self.weights[which])

    def with_frame(self, **columns: np.ndarray) -> Rows:
        return Rows({**self.frame, **columns}, self.y, self.weights)

    def fit(self, model: NaiveBayesClassifier, *, weighted: bool = False) -> NaiveBayesClassifier:
        return model.fit(self.frame, self.y, sample_weight=self.weights if weighted else None)


def cell(kind: str, one: int, two: int, *, gaps: bool) -> Any:
    """A cell from two bytes: tables are drawn as bytes, which hypothesis does a hundred times faster than cells."""
    if gaps and one % 6 == 5:
        return float("nan") if kind in ("number", "count") else None
    if kind == "nominal":
        return NOMINAL[two % 4]
    if kind == "number":
        return (-1) ** (two & 1) * (two >> 1) / 8
    if kind == "count":
        return float(two % 7)
    return " ".join(WORDS[(two + i * (one // 6)) % len(WORDS)] for i in range(two % 6))


def column(kind: str, values: list[Any]) -> np.ndarray:
    if kind in ("number", "count"):
        return np.array(values, dtype=np.float64)
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


@st.composite
def rows_of(
    draw: Any, law: Law, *, min_rows: int = 2, max_rows: int = 16, gaps: bool = True, min_weight: int = 1
) -> Rows:
    n = draw(st.integers(min_rows, max_rows))
    width = 2 * len(law.columns) + 2
    raw = np.frombuffer(draw(st.binary(min_size=n * width, max_size=n * width)), dtype=np.uint8).reshape(n, width)
    frame = {
        name: column(kind, [cell(kind, int(row[2 * j]), int(row[2 * j + 1]), gaps=gaps) for row in raw])
        for j, (name, (kind, _)) in enumerate(law.columns.items())
    }
    y = column("nominal", [CLASSES[b % 3] for b in raw[:, -2]])
    return Rows(frame, y, min_weight + raw[:, -1].astype(np.int64) % 3)


@st.composite
def splits(draw: Any, n: int) -> list[np.ndarray]:
    """The positions 0 .. n-1 in contiguous pieces of at least one each."""
    cuts = sorted(draw(st.sets(st.integers(1, n - 1), max_size=4))) if n > 1 else []
    return np.split(np.arange(n), cuts)


@contextmanager
def zeros_allowed() -> Iterator[None]:
    """Rows that no class could have made are no concern of the law at hand: both sides must agree on them."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Every class has probability 0 in .* row", category=DataWarning)
        yield


def joint_of(model: NaiveBayesClassifier, frame: Any) -> np.ndarray:
    with zeros_allowed():
        return model.predict_joint_log_proba(frame)


def posterior_of(model: NaiveBayesClassifier, frame: Any) -> np.ndarray:
    with zeros_allowed():
        return model.predict_proba(frame)


def assert_logs_agree(ours: np.ndarray, theirs: np.ndarray, tolerance: float) -> None:
    """Logarithms to a tolerance relative to their size: a log of -1e9 is known to 1e-7, not to 1e-16."""
    assert ours.shape == theirs.shape
    np.testing.assert_array_equal(np.isneginf(ours), np.isneginf(theirs))
    finite = np.isfinite(theirs)
    assert np.isfinite(ours[finite]).all()
    np.testing.assert_allclose(ours[finite], theirs[finite], rtol=tolerance, atol=tolerance)


def assert_posteriors_agree(ours: np.ndarray, theirs: np.ndarray, joint: np.ndarray, tolerance: float = 1e-9) -> None:
    """Posteriors to a tolerance that grows with the logs whose difference they are."""
    size = np.max(np.abs(np.where(np.isfinite(joint), joint, 0.0)), axis=1, keepdims=True)
    assert np.isfinite(ours).all()
    assert (np.abs(ours - theirs) <= tolerance * np.maximum(1.0, size)).all(), (ours, theirs)


def assert_same_answers(
    ours: NaiveBayesClassifier, theirs: NaiveBayesClassifier, frame: Any, tolerance: float = 1e-9
) -> None:
    assert ours.classes_.tolist() == theirs.classes_.tolist()
    joint = joint_of(theirs, frame)
    assert_logs_agree(joint_of(ours, frame), joint, tolerance)
    assert_posteriors_agree(posterior_of(ours, frame), posterior_of(theirs, frame), joint, tolerance)


def assert_same_tallies(ours: dict[str, Any], theirs: dict[str, Any], scale: float = 10.0) -> None:
    """Counts, words and values exactly; moments to 1e-12 of the scale of the numbers."""
    assert list(ours) == list(theirs)
    for name, a in ours.items():
        b = theirs[name]
        assert type(a) is type(b)
        if hasattr(a, "triple"):
            assert a.given == b.given
            (n1, mean1, m1), (n2, mean2, m2) = a.triple, b.triple
            np.testing.assert_array_equal(n1, n2)
            np.testing.assert_allclose(mean1, mean2, rtol=1e-12, atol=1e-12 * scale)
            np.testing.assert_allclose(m1, m2, rtol=1e-12, atol=1e-12 * scale**2)
        else:
            assert a.to_dict() == b.to_dict(), name


def no_near_tie(model: NaiveBayesClassifier) -> bool:
    """Whether `auto` chose by more than rounding."""
    for scores in model.choices_.values():
        first, second = sorted(scores.values(), reverse=True)[:2]
        if first - second < 1e-9:
            return False
    return True
