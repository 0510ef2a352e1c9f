"""Rote learning: a row is predicted from identical training rows."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels
from countwise._typing import Flags, Floats, Indices
from countwise.base.model import row_numbers_section
from countwise.base.portraits import distinct, typical
from countwise.base.protocol import Classifier, dirichlet_draws
from countwise.base.row_model import RowModel, encode_finite
from countwise.data.attributes import Nominal, Numeric
from countwise.data.cells import row_of, shown_cell
from countwise.data.frames import Frame
from countwise.data.output import rows_of
from countwise.data.schema import Schema
from countwise.data.table import Table
from countwise.errors import OptionError, did_you_mean, printable
from countwise.jsonfile import numbers
from countwise.sources import Memory
from countwise.working import Account, Grid, Section
from countwise.working.numbers import number, percent

__all__ = ["RoteClassifier"]

_SHOWN = 20


@dataclass(eq=False, repr=False)
class RoteClassifier(Classifier, RowModel):
    """Rote learner: predict a row from the training rows that are identical to it.

    Parameters
    ----------
    otherwise : {'majority', 'abstain'} or classifier, default='majority'
        Prediction for a row that is identical to no training row. 'majority': the most frequent class. 'abstain':
        None. A classifier is cloned, fitted to the same rows, and predicts these rows.
    types : mapping of column to type, str or Schema, optional
        Types of the columns, where the dtypes do not determine them; see `NaiveBayesClassifier`.
    categorical_features : array-like, optional
        Columns that are nominal, by name or index or as a mask; see `NaiveBayesClassifier`.

    Attributes
    ----------
    classes_ : ndarray
        The classes, sorted.
    class_count_ : ndarray
        Number of training rows (or their weight) in each class.
    prior_ : ndarray
        Proportion of the training rows in each class.
    n_different_ : int
        Number of distinct training rows.
    otherwise_ : classifier
        The other classifier, fitted. Only set if `otherwise` is a classifier.
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

    Notes
    -----
    Two rows are identical if all their values are equal. Two missing values count as equal. Text columns are compared
    as strings, character by character.

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
        options = ("majority", "abstain")
        valid = (
            self.otherwise in options
            if isinstance(self.otherwise, str)
            else (hasattr(self.otherwise, "fit") and not isinstance(self.otherwise, type))
        )
        if not valid:
            raise OptionError(
                f"otherwise must be 'majority', 'abstain' or a classifier, not {self.otherwise!r}.",
                hint=did_you_mean(self.otherwise, options),
            )

    def _learn(self, rows: Memory) -> dict[str, Any]:
        inferred = Schema.kinds(rows.frame, self.types, self.categorical_features)
        # text columns are compared as whole strings
        schema = Schema(a if isinstance(a, Nominal | Numeric) else Nominal(a.name) for a in inferred.attributes)
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

    # -- predicting ------------------------------------------------------------------

    def _found(self, frame: Frame) -> Indices:
        """Return the position of each row among the distinct training rows; -1 if it is not one of them."""
        keys = _keys(self.schema_, self._domains, self._table(frame, 0, frame.n_rows))
        place = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.where(self._keys[place] == keys, place, -1)

    def matches(self, X: Any) -> Floats:
        """Return the number of training rows that are identical to each row.

        Parameters
        ----------
        X : table
            Rows. Columns are matched by name, or by position if X is an array.

        Returns
        -------
        ndarray of shape (n_rows,)
            Number of identical training rows, or their total weight.

        Examples
        --------
        >>> from countwise import RoteClassifier
        >>> RoteClassifier().fit({"x": [1, 1, 2]}, ["a", "b", "a"]).matches({"x": [1, 2, 3]}).tolist()
        [2.0, 1.0, 0.0]
        """
        found = self._found(self._open(X))
        return np.where(found >= 0, self._counts.sum(axis=1)[found], 0.0)

    def coverage(self, X: Any) -> float:
        """Return the proportion of rows that are identical to a training row.

        Parameters
        ----------
        X : table
            Rows. Columns are matched by name, or by position if X is an array.

        Returns
        -------
        float
            The proportion, from 0 to 1.

        Examples
        --------
        >>> from countwise import RoteClassifier
        >>> RoteClassifier().fit({"x": [1, 1, 2]}, ["a", "b", "a"]).coverage({"x": [1, 2, 3, 4]})
        0.5
        """
        return float(np.mean(self._found(self._open(X)) >= 0))

    def predict_proba(self, X: Any) -> Floats:
        """Return P(class | row): the class frequencies of the identical training rows.

        A row that is identical to no training row gets the class frequencies of all training rows
        (``otherwise='majority'``), NaN (``otherwise='abstain'``), or the posterior of the other classifier.

        Parameters
        ----------
        X : table
            Rows to predict. Columns are matched by name, or by position if X is an array.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Posterior of each class, in the order of `classes_`.

        Examples
        --------
        >>> from countwise import RoteClassifier
        >>> RoteClassifier().fit({"x": [1, 1, 2]}, ["a", "b", "a"]).predict_proba({"x": [1, 2]}).tolist()
        [[0.5, 0.5], [1.0, 0.0]]
        """
        frame = self._open(X)
        found = self._found(frame)
        shares = (self._counts / self._counts.sum(axis=1, keepdims=True))[found]
        unseen = found < 0
        if self.otherwise == "majority":
            shares[unseen] = self.prior_
        elif self.otherwise == "abstain":
            shares[unseen] = np.nan
        elif unseen.any():
            shares[unseen] = self._deferred(X, unseen, "predict_proba")
        return shares

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of each row: the most frequent class of the identical training rows.

        Ties go to the first of `classes_`. A row that is identical to no training row gets the most frequent class
        (``otherwise='majority'``), None (``otherwise='abstain'``), or the prediction of the other classifier.

        Parameters
        ----------
        X : table
            Rows to predict. Columns are matched by name, or by position if X is an array.

        Returns
        -------
        ndarray of shape (n_rows,)
            Predicted classes.

        Examples
        --------
        >>> from countwise import RoteClassifier
        >>> RoteClassifier("abstain").fit({"x": [1, 1, 2]}, ["a", "b", "b"]).predict({"x": [1, 2, 3]}).tolist()
        ['a', 'b', None]
        """
        frame = self._open(X)
        found = self._found(frame)
        best = _kernels.argmax_rows(self._counts / self._counts.sum(axis=1, keepdims=True))[found]
        unseen = found < 0
        if self.otherwise == "majority":
            best[unseen] = _kernels.argmax_rows(self.prior_[None])[0]
            return self.classes_[best]
        predictions = self.classes_[best]
        if self.otherwise == "abstain":
            predictions = predictions.astype(object)
            predictions[unseen] = None
        elif unseen.any():
            predictions[unseen] = self._deferred(X, unseen, "predict")
        return predictions

    def _deferred(self, X: Any, unseen: Flags, what: str) -> Any:
        """Return the predictions of the other classifier for rows without an identical training row."""
        if not hasattr(self, "otherwise_"):
            raise OptionError("otherwise was changed after fit.", hint="fit the model again.")
        return getattr(self.otherwise_, what)(rows_of(X, np.flatnonzero(unseen)))

    def explain(self, X: Any, *, row: int = 0, rows: Any = None) -> Account:
        """Explain the prediction of one row: the number of identical training rows in each class.

        Parameters
        ----------
        X : table
            Rows to predict. Columns are matched by name, or by position if X is an array.
        row : int, default=0
            Index of the row to explain. A negative index counts from the end.
        rows : table or tuple (X, y) or None, default=None
            The training table. With it, the working lists the numbers of the identical training rows.

        Returns
        -------
        Account
            The working. ``print`` shows it as text.

        Examples
        --------
        >>> from countwise import RoteClassifier, samples
        >>> tennis = samples.load("tennis")
        >>> print(RoteClassifier().fit(tennis.frame, "play").explain(tennis.X, row=2))
        play = Yes with probability 100 %.
        <BLANKLINE>
        Identical training rows: 1 of 14
          play  rows
          No       0
          Yes      1
        """
        frame, train = self._open(X), self._training_rows(rows)
        row = row_of(frame, row)
        place = int(self._found(frame.slice(row, row + 1))[0])
        n_rows = number(float(self._counts.sum()))
        if place >= 0:
            counts = self._counts[place]
            title = f"Identical training rows: {number(float(counts.sum()))} of {n_rows}"
            table = Grid({self.target_.name: self.classes_.tolist(), "rows": counts.tolist()})
            found = self._account(counts / counts.sum(), Section(title, table))
            if train is None:
                return found
            same, codes = self._found(train.frame) == place, self.target_.encode(train.target, strict=True)
            by_class = [(f"{self.target_.name} = {v}", same & (codes == c)) for c, v in enumerate(self.classes_)]
            return replace(found, sections=(*found.sections, row_numbers_section(by_class, train)))
        cells = {a: shown_cell(frame.slice(row, row + 1).columns[a]) or "missing" for a in self.schema_}
        section = Section(
            f"None of the {n_rows} training rows is identical",
            Grid({"attribute": list(cells)[:_SHOWN], "value": list(cells.values())[:_SHOWN]}),
        )
        if self.otherwise == "abstain":
            sentence = f"No prediction of {self.target_.name}: no training row is identical to this row."
            return Account(sentence, float("nan"), (section,))
        if self.otherwise == "majority":
            note = "The prediction is the most frequent class of all training rows."
            return self._account(self.prior_, section, note)
        return self._deferred_account(X, row, section)

    def _posterior_draws(self, one: Frame, draws: int, rng: np.random.Generator) -> Floats:
        place = int(self._found(one)[0])
        if place < 0 and self.otherwise != "majority":
            raise OptionError(
                "A row without an identical training row has no interval: it is "
                + ("not predicted." if self.otherwise == "abstain" else "predicted by another classifier."),
                hint="use otherwise='majority'.",
            )
        return dirichlet_draws(self._counts[place] if place >= 0 else self.class_count_, draws, rng)

    def _portrait(self, c: int) -> list[tuple[str, Any, str]]:
        codes = self._keys.view(">u4").reshape(len(self._keys), -1)
        found = []
        for j, a in enumerate(self.schema_.attributes):
            column = codes[:, j] if isinstance(a, Nominal) else self._domains[a.name][codes[:, j]]
            found.append((a.name, *typical(a, column, self._counts[:, c])))
        return found

    def _numbers_to_try(self, name: str) -> Any:
        return distinct(self._domains[name])

    def _account(self, p: Floats, section: Section, *notes: str, predicted: Any = None) -> Account:
        """Return the working of a prediction, by default of the most probable class, with the posterior."""
        best = int(_kernels.argmax_rows(p[None])[0]) if predicted is None else self.classes_.tolist().index(predicted)
        predicted = self.classes_[best]
        shown = percent(float(p[best]), certain=float(p[best]) == 1.0)
        posterior = dict(zip(self.classes_.tolist(), p.tolist(), strict=True))
        sentence = f"{self.target_.name} = {predicted} with probability {shown}."
        return Account(sentence, float(p[best]), (section,), notes, posterior)

    def _deferred_account(self, X: Any, row: int, section: Section) -> Account:
        """Return the prediction of the other classifier, with its own working if it has one."""
        one = rows_of(X, np.array([row]))
        predicted = self.otherwise_.predict(one)[0]
        note = f"The row was predicted by {type(self.otherwise_).__name__}."
        if hasattr(self.otherwise_, "explain"):
            note += f"\n\n{self.otherwise_.explain(one)}"
        if not hasattr(self.otherwise_, "predict_proba"):
            return Account(f"{self.target_.name} = {predicted}.", float("nan"), (section,), (note,))
        return self._account(self.otherwise_.predict_proba(one)[0], section, note, predicted=predicted)

    def summary(self) -> str:
        """Return a one-line text about the fitted model: the number of rows and of distinct rows.

        Returns
        -------
        str
            The summary.

        Examples
        --------
        >>> from countwise import RoteClassifier
        >>> print(RoteClassifier().fit({"x": [1, 1, 2]}, ["a", "b", "a"]).summary())
        3 rows, 1 attribute; class: 2 distinct rows stored
        """
        self._check_fitted()
        head = f"{self._training_size}; {self.target_.name}: "
        return printable(f"{head}{self.n_different_} distinct rows stored")

    def tables(self) -> dict[str, Grid]:
        """Return the number of rows and of distinct rows as a table.

        Returns
        -------
        dict of str to Grid
            'rows': the number of training rows, and of distinct ones.

        Examples
        --------
        >>> from countwise import RoteClassifier
        >>> print(RoteClassifier().fit({"x": [1, 1, 2]}, ["a", "b", "a"]).tables()["rows"])
        rows  distinct
           3         2
        """
        self._check_fitted()
        return {"rows": Grid({"rows": [self.n_rows_], "distinct": [self.n_different_]})}

    # -- the model file --------------------------------------------------------------

    def _state(self) -> dict[str, Any]:
        return {
            "domains": {name: [None if x != x else x for x in d.tolist()] for name, d in self._domains.items()},
            "keys": [key.hex() for key in self._keys.tolist()],
            "counts": self._counts.tolist(),
        }

    def _revive(self, state: Mapping[str, Any]) -> None:
        self._check_settings()
        if not isinstance(self.otherwise, str):
            raise ValueError("a file cannot hold another classifier")
        numeric = {a.name for a in self.schema_.attributes if isinstance(a, Numeric)}
        if set(state["domains"]) != numeric:
            raise ValueError("the stored numbers do not match the numeric columns of the schema")
        self._domains = {
            name: numbers(d, f"the values of {name!r}", (None,), missing=True).astype(np.float64)
            for name, d in state["domains"].items()
        }
        width, k = 4 * len(self.schema_), len(self.target_.values)
        raw = [bytes.fromhex(key) for key in state["keys"]]
        self._keys = np.array(raw, dtype=f"V{width}")
        self._counts = numbers(state["counts"], "the class counts", (len(raw), k), least=0).astype(np.float64)
        sound = (
            len(raw) > 0
            and all(len(key) == width for key in raw)
            and all(a < b for a, b in itertools.pairwise(raw))
            and (self._counts.sum(axis=1) > 0).all()
            and all(
                (np.diff(d[~np.isnan(d)]) > 0).all() and np.isnan(d[:-1]).sum() == 0 for d in self._domains.values()
            )
        )
        if not sound:
            raise ValueError("the stored rows or their class counts are damaged")
        self._check_codes()
        self._derive()

    def _check_codes(self) -> None:
        """Raise ValueError if a stored row has a value that no column has."""
        codes = self._keys.view(">u4").reshape(len(self._keys), -1)
        for j, a in enumerate(self.schema_.attributes):
            size = len(a.values) + 1 if isinstance(a, Nominal) else len(self._domains[a.name])
            if (codes[:, j] >= size).any():
                raise ValueError(f"a stored row has a value of {a.name!r} that does not exist")


def _numbers(column: NDArray[Any]) -> Floats:
    """Return the numbers with -0.0 replaced by 0.0, so that both are equal as bytes."""
    return column.astype(np.float64) + 0.0


def _keys(schema: Schema, domains: Mapping[str, Floats], table: Table) -> NDArray[Any]:
    """Return each row as bytes, four for the code of each value; a value of no training row matches nothing."""
    codes = np.empty((table.n_rows, len(schema)), dtype=">u4")  # big-endian, so that bytes sort like codes
    for j, a in enumerate(schema.attributes):
        if isinstance(a, Nominal):
            codes[:, j] = table[a.name]
            continue
        domain, numbers = domains[a.name], _numbers(table[a.name])
        place = np.minimum(np.searchsorted(domain, numbers), max(len(domain) - 1, 0))
        same = (domain[place] == numbers) | (np.isnan(domain[place]) & np.isnan(numbers))
        codes[:, j] = np.where(same, place, np.iinfo(np.uint32).max)
    return np.ascontiguousarray(codes).view(f"V{4 * len(schema)}").ravel()
