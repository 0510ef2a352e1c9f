"""Rote learning: a row is predicted by the very same rows of the training table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Flags, Floats, Indices
from countwise.base.protocol import Classifier
from countwise.base.row_model import RowModel, encode_finite
from countwise.data.attributes import Nominal, Numeric
from countwise.data.cells import row_of, shown_cell
from countwise.data.frames import Frame
from countwise.data.output import rows_of
from countwise.data.schema import Schema
from countwise.data.table import Table
from countwise.errors import OptionError
from countwise.sources import Memory
from countwise.working import Account, Grid, Section
from countwise.working.numbers import number, percent

__all__ = ["RoteClassifier"]

_SHOWN = 20


@dataclass(eq=False, repr=False)
class RoteClassifier(Classifier, RowModel):
    """Rote learning: a row is predicted by the very same rows of the training table.

    Parameters
    ----------
    otherwise : {"majority", "abstain"} or classifier, default="majority"
        The prediction for a row that was not seen in training: the commonest class, None, or that of another
        classifier, which is fitted to the same rows.
    types, categorical_features
        What the columns are; see `NaiveBayesClassifier`.

    Attributes
    ----------
    classes_ : ndarray
        The classes in order.
    n_different_ : int
        How many different rows were learned.
    otherwise_ : classifier
        The other classifier, fitted, if there is one.

    Notes
    -----
    Rows are the same if all their values are; two missing values are the same. Texts are the same if every letter is.

    Examples
    --------
    >>> from countwise import RoteClassifier, samples
    >>> tennis = samples.load("tennis")
    >>> model = RoteClassifier("abstain").fit(tennis.X, tennis.y)
    >>> rows = [{"outlook": "Sunny", "temperature": "Hot", "humidity": "High", "wind": "Weak"},
    ...         {"outlook": "Sunny", "temperature": "Hot", "humidity": "Normal", "wind": "Weak"}]
    >>> model.predict(rows).tolist(), model.coverage(rows)
    (['No', None], 0.5)
    """

    otherwise: Any = "majority"
    _: KW_ONLY
    types: Any = None
    categorical_features: Any = None

    classes_: NDArray[Any] = field(init=False)
    otherwise_: Any = field(init=False)
    _domains: dict[str, Floats] = field(init=False)
    _keys: NDArray[Any] = field(init=False)
    _counts: Floats = field(init=False)

    def _learn_from(self, X: Any, y: Any, sample_weight: Any) -> dict[str, Any]:
        found = super()._learn_from(X, y, sample_weight)
        if not isinstance(self.otherwise, str):
            from sklearn.base import clone

            given = {} if sample_weight is None else {"sample_weight": sample_weight}
            found["otherwise_"] = clone(self.otherwise).fit(X, y, **given)
        return found

    def _check_settings(self) -> None:
        word = isinstance(self.otherwise, str)
        if (word and self.otherwise not in ("majority", "abstain")) or not (word or hasattr(self.otherwise, "fit")):
            raise OptionError(
                f"otherwise={self.otherwise!r} is unknown.", hint="give 'majority', 'abstain' or a classifier."
            )

    def _learn(self, rows: Memory) -> dict[str, Any]:
        kinds = Schema.kinds(rows.frame, self.types, self.categorical_features)
        # a text is the same if every letter is
        schema = Schema(a if isinstance(a, Nominal | Numeric) else Nominal(a.name) for a in kinds.attributes)
        frame = schema.coded(rows.frame)
        schema = schema.learn(frame)
        table = encode_finite(schema, frame, strict=True)
        target, codes = self._encode_target(rows)
        domains = {a.name: np.unique(_numbers(table[a.name])) for a in schema.attributes if isinstance(a, Numeric)}
        keys, which = np.unique(_keys(schema, domains, table), return_inverse=True)
        weights = np.ones(len(codes)) if rows.weights is None else rows.weights.astype(np.float64)
        k = len(target.values)
        counts = np.bincount(which.ravel() * k + codes, weights=weights, minlength=len(keys) * k).reshape(-1, k)
        return {"schema_": schema, "target_": target, "_domains": domains, "_keys": keys, "_counts": counts}

    def _derive(self) -> None:
        self.classes_ = self.target_.labels(self._label_type)
        total = self._counts.sum(axis=0)
        self.class_count_, self.prior_ = total, total / total.sum()
        self.n_different_ = len(self._keys)

    # -- asking ----------------------------------------------------------------------

    def _found(self, frame: Frame) -> Indices:
        """The place of each row among those that were learned; -1 for one that was not."""
        keys = _keys(self.schema_, self._domains, self._table(frame, 0, frame.n_rows))
        place = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.where(self._keys[place] == keys, place, -1)

    def matches(self, X: Any) -> Floats:
        """The number of training rows that are the same as each row, by weight."""
        found = self._found(self._open(X))
        return np.where(found >= 0, self._counts.sum(axis=1)[found], 0.0)

    def coverage(self, X: Any) -> float:
        """The share of rows that were seen in training."""
        return float(np.mean(self._found(self._open(X)) >= 0))

    def predict_proba(self, X: Any) -> Floats:
        """P(class | row): the classes' shares of the training rows that are the same.

        For a row that was not seen in training: the prior, NaN where the model abstains, or the probabilities of the
        other classifier.
        """
        frame = self._open(X)
        found = self._found(frame)
        shares = (self._counts / self._counts.sum(axis=1, keepdims=True))[found]
        lost = found < 0
        if self.otherwise == "majority":
            shares[lost] = self.prior_
        elif self.otherwise == "abstain":
            shares[lost] = np.nan
        elif lost.any():
            shares[lost] = self._deferred(X, lost, "predict_proba")
        return shares

    def predict(self, X: Any) -> NDArray[Any]:
        """The commonest class of the training rows that are the same; of equals the first of `classes_`.

        For a row that was not seen in training: the commonest class, None where the model abstains, or the
        prediction of the other classifier.
        """
        frame = self._open(X)
        found = self._found(frame)
        best = np.argmax(self._counts, axis=1)[found]
        lost = found < 0
        if self.otherwise == "majority":
            best[lost] = int(np.argmax(self.class_count_))
            return self.classes_[best]
        answers = self.classes_[best]
        if self.otherwise == "abstain":
            answers = answers.astype(object)
            answers[lost] = None
        elif lost.any():
            answers[lost] = self._deferred(X, lost, "predict")
        return answers

    def _deferred(self, X: Any, lost: Flags, what: str) -> Any:
        """The predictions of the other classifier for rows that were not seen in training."""
        return getattr(self.otherwise_, what)(rows_of(X, np.flatnonzero(lost)))

    def explain(self, X: Any, *, row: int = 0) -> Account:
        """How often the very same row stands in the training table, and with which classes.

        Examples
        --------
        >>> from countwise import RoteClassifier, samples
        >>> tennis = samples.load("tennis")
        >>> print(RoteClassifier().fit(tennis.frame, "play").explain(tennis.X, row=2))
        play = Yes, with probability 100 %.
        <BLANKLINE>
        Training rows that are the same: 1 of 14
          play  rows
          No       0
          Yes      1
        """
        frame = self._open(X)
        row = row_of(frame, row)
        place = int(self._found(frame.slice(row, row + 1))[0])
        n_rows = number(float(self._counts.sum()))
        if place >= 0:
            counts = self._counts[place]
            title = f"Training rows that are the same: {number(float(counts.sum()))} of {n_rows}"
            table = Grid({self.target_.name: self.classes_.tolist(), "rows": counts.tolist()})
            return self._account(counts / counts.sum(), Section(title, table))
        cells = {a: shown_cell(frame.slice(row, row + 1).columns[a]) or "missing" for a in self.schema_}
        section = Section(
            f"None of {n_rows} training rows is the same",
            Grid({"attribute": list(cells)[:_SHOWN], "value": list(cells.values())[:_SHOWN]}),
        )
        if self.otherwise == "abstain":
            said = f"This row was not seen in training: {self.target_.name} is left open."
            return Account(said, float("nan"), (section,))
        if self.otherwise == "majority":
            return self._account(self.prior_, section, "The prediction is the commonest class of all training rows.")
        return self._deferred_account(X, row, section)

    def _account(self, p: Floats, section: Section, *notes: str, answer: Any = None) -> Account:
        """The likeliest class, or the answer of the other classifier, with the probabilities of all classes."""
        best = int(np.argmax(p))
        answer = self.classes_[best] if answer is None else answer
        sure = percent(float(p[best]), certain=float(p[best]) == 1.0)
        posterior = dict(zip(self.classes_.tolist(), p.tolist(), strict=True))
        said = f"{self.target_.name} = {answer}, with probability {sure}."
        return Account(said, float(p[best]), (section,), notes, posterior)

    def _deferred_account(self, X: Any, row: int, section: Section) -> Account:
        """The prediction of the other classifier, with its own working if it has one."""
        one = rows_of(X, np.array([row]))
        answer = self.otherwise_.predict(one)[0]
        note = f"It was predicted by {type(self.otherwise_).__name__}."
        if hasattr(self.otherwise_, "explain"):
            note += f"\n\n{self.otherwise_.explain(one)}"
        if not hasattr(self.otherwise_, "predict_proba"):
            return Account(f"{self.target_.name} = {answer}.", float("nan"), (section,), (note,))
        return self._account(self.otherwise_.predict_proba(one)[0], section, note, answer=answer)

    def summary(self) -> str:
        """What was learned, in one line."""
        self._check_fitted()
        head = f"{self.n_rows_} rows, {len(self.schema_)} attributes; {self.target_.name}: "
        return f"{head}{self.n_different_} different rows learned by heart"

    def tables(self) -> dict[str, Grid]:
        """What was learned, as a table: how many rows, and how many different ones."""
        self._check_fitted()
        return {"rows": Grid({"rows": [self.n_rows_], "different": [self.n_different_]})}

    # -- the model file --------------------------------------------------------------

    def _state(self) -> dict[str, Any]:
        return {
            "domains": {name: [None if x != x else x for x in d.tolist()] for name, d in self._domains.items()},
            "keys": [key.hex() for key in self._keys.tolist()],
            "counts": self._counts.tolist(),
        }

    def _revive(self, state: Mapping[str, Any]) -> None:
        self._domains = {str(name): np.array(d, dtype=np.float64) for name, d in state["domains"].items()}
        if set(self._domains) != {a.name for a in self.schema_.attributes if isinstance(a, Numeric)}:
            raise ValueError("the numbers do not fit the schema")
        width = 4 * len(self.schema_)
        raw = [bytes.fromhex(key) for key in state["keys"]]
        self._keys = np.array(raw, dtype=f"V{width}")
        self._counts = np.array(state["counts"], dtype=np.float64)
        sound = (
            all(len(key) == width for key in raw)
            and self._counts.shape == (len(raw), len(self.target_.values))
            and len(raw) > 0
            and np.isfinite(self._counts).all()
            and (self._counts >= 0).all()
            and (self._counts.sum(axis=1) > 0).all()
        )
        if not sound:
            raise ValueError("the rows learned by heart are not sound")
        self._derive()


def _numbers(column: NDArray[Any]) -> Floats:
    """Numbers with one zero: -0.0 and 0.0 are the same."""
    return column.astype(np.float64) + 0.0


def _keys(schema: Schema, domains: Mapping[str, Floats], table: Table) -> NDArray[Any]:
    """Rows as bytes, four for the code of each value; a value that no training row has equals none."""
    codes = np.empty((table.n_rows, len(schema)), dtype=">u4")  # the order of the bytes is that of the codes
    for j, a in enumerate(schema.attributes):
        if isinstance(a, Nominal):
            codes[:, j] = table[a.name]
            continue
        domain, numbers = domains[a.name], _numbers(table[a.name])
        place = np.minimum(np.searchsorted(domain, numbers), max(len(domain) - 1, 0))
        same = (domain[place] == numbers) | (np.isnan(domain[place]) & np.isnan(numbers))
        codes[:, j] = np.where(same, place, np.iinfo(np.uint32).max)
    return np.ascontiguousarray(codes).view(f"V{4 * len(schema)}").ravel()
