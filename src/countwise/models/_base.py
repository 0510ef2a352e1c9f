"""What every model learned by counting has in common.

A new model writes `_parts`, `_settle` and `_add_terms`; fitting in one go or in
pieces, merging, forgetting and predicting come from here. `tallies_` is the only
learned state: everything else is derived from it and can be thrown away.

Models are written without scikit-learn, so that the command line need not wait for
it; `countwise.models.estimators` gives each of them scikit-learn's face.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from inspect import signature
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels, progress
from countwise.attributes import Nominal, Numeric, refuse_infinity
from countwise.bags import Text
from countwise.conditionals import Gaussian, Poisson, plain
from countwise.errors import CountwiseError, DataWarning, TableError, listed
from countwise.frames import Frame, frame_of
from countwise.models._parts import Part, checked, derive
from countwise.schema import Schema
from countwise.sources import Memory, open_rows
from countwise.table import Table
from countwise.tallies import Counts, Progress

__all__ = ["TallyClassifier"]

Kind = Literal["log", "proba"]

SHOWS_INFINITY = (Gaussian, Poisson)  # laws under which an infinite number makes every class impossible
PREDICT_BLOCK = 1 << 15  # rows whose posteriors stay in cache while the terms are added


class TallyClassifier:
    """A classifier whose learned state is its tallies."""

    schema_: Schema
    target_: Nominal
    tallies_: dict[str, Any]
    classes_: NDArray[Any]
    parts_: list[Part]
    log_prior_: NDArray[np.float64]
    feature_names_in_: NDArray[Any]

    # -- to be written by each model ----------------------------------------

    def _kinds(self, frame: Frame) -> Schema:
        """What each column is, before its domain is learned."""
        raise NotImplementedError

    def _parts(self, schema: Schema, target: str) -> list[Part]:
        """What is to be tallied, and by which rule."""
        raise NotImplementedError

    def _settle(self) -> None:
        """Derive all parameters from `tallies_`."""
        raise NotImplementedError

    def _add_terms(self, table: Table, out: NDArray[np.float64]) -> None:
        """Add each term to out (rows, classes), which holds log P(class)."""
        raise NotImplementedError

    # -- learning ------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from a table.

        Parameters
        ----------
        X : any table, path, or iterator of frames
            pandas, Polars, PyArrow, NumPy, SciPy sparse, a mapping of columns, a list of dicts.
        y : array-like or str
            The class of each row, or the name of its column in X.
        sample_weight : array-like or str, optional
            A weight for each row; a weight of n equals n copies.

        Returns
        -------
        self
        """
        with self._whole_or_nothing():
            self._forget_all()
            return self._learn(X, y, sample_weight)

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more rows; in any split the same as `fit` on all of them.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`.
        classes : array-like, optional
            The classes that may come. They need not be given: new ones are added as they come.

        Returns
        -------
        self
        """
        with self._whole_or_nothing():
            if classes is not None and not hasattr(self, "target_"):
                self._expected = [c.item() if isinstance(c, np.generic) else c for c in np.asarray(classes)]
            return self._learn(X, y, sample_weight)

    def forget(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Take rows back, as if they had never been there.

        Parameters
        ----------
        X, y, sample_weight
            Rows that were given to `fit` or `partial_fit`.

        Returns
        -------
        self
        """
        self._check_fitted()
        with self._whole_or_nothing():
            for rows in open_rows(X, y, sample_weight):
                try:
                    self._take_back(rows)
                except CountwiseError as error:
                    raise rows.counted_as_given(error) from None
            if not self.tallies_[self.target_.name].table.sum() > 0:
                raise TableError("Every row would be forgotten: nothing would be left to have learned from.")
            self._drop_what_is_gone()
            self._settle()
        return self

    def _take_back(self, rows: Memory) -> None:
        target = Nominal(self.target_.name, self.target_.values, grows=False)
        codes = target.encode(rows.target, strict=True)
        frame = self.schema_.match(rows.frame)
        table = self.schema_.encode(frame, rows.weights, strict=True).with_column(target.name, codes)
        parts = self._parts(self.schema_, self.target_.name)
        filled = self._fill(parts, checked(table, parts))
        self.tallies_ = {name: tally - filled[name] for name, tally in self.tallies_.items()}
        self.n_rows_ -= rows.frame.n_rows

    def _drop_what_is_gone(self) -> None:
        """Values, words and classes that only forgotten rows had leave their domains, as if never met."""
        left: dict[str, Any] = {self.target_.name: self.target_.without(self.tallies_[self.target_.name].table)}
        for part in self._parts(self.schema_, self.target_.name):
            tally = self.tallies_[part.key]
            if part.how == "same" and isinstance(part.of, Nominal):
                left[part.key] = part.of.without(tally.table.sum(axis=0))
            elif part.how == "same" and isinstance(part.of, Text):
                left[part.key] = part.of.without(tally.filled[1].sum(axis=0))
        self.target_ = left[self.target_.name]
        self.schema_ = Schema(left.get(a.name, a) for a in self.schema_.attributes)
        self.tallies_ = {name: tally.within(left) for name, tally in self.tallies_.items()}

    @contextmanager
    def _whole_or_nothing(self) -> Iterator[None]:
        """What fails, or is interrupted, leaves the model as it was."""
        before = dict(vars(self))
        try:
            yield
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    def __add__(self, other: object) -> Self:
        """A model as if fitted on the rows of both."""
        if type(other) is not type(self):
            return NotImplemented
        self._check_fitted()
        other._check_fitted()
        if self._settings() != other._settings():
            raise TableError("Models with different settings cannot be merged.", hint="fit both with the same ones.")
        merged = type(self)(**self.get_params(deep=False))
        merged._adopt(self)
        merged._join(other.schema_, other.target_, other.tallies_)
        merged.n_rows_ = self.n_rows_ + other.n_rows_
        merged.n_left_out_ = self.n_left_out_ + other.n_left_out_
        merged._settle()
        return merged

    def _learn(self, X: Any, y: Any, sample_weight: Any) -> Self:
        left_out, n_rows, name = 0, 0, ""
        for rows in open_rows(X, y, sample_weight):
            left_out, n_rows, name = left_out + rows.left_out, n_rows + rows.frame.n_rows, rows.name
            if rows.frame.n_rows:
                self._learn_piece(rows)
        if not n_rows:
            raise TableError("The table is empty: at least one row with a target is needed.")
        self.n_left_out_ += left_out
        self._note_left_out(left_out, n_rows + left_out, name)
        self._note_identifiers()
        self._settle()
        return self

    def _learn_piece(self, rows: Memory) -> None:
        try:
            self._tally(rows)
        except CountwiseError as error:
            raise rows.counted_as_given(error) from None

    def _tally(self, rows: Memory) -> None:
        first = not hasattr(self, "tallies_")
        schema = self._kinds(rows.frame) if first else self.schema_
        frame = schema.coded(rows.frame if first else schema.match(rows.frame))
        schema = schema.learn(frame)
        target = self._learn_target(rows, first)
        parts = self._parts(schema, target.name)
        blanks = {target.name: Counts((target,)), **{part.key: part.rule.blank(target, part.of) for part in parts}}
        source = replace(rows, frame=frame)
        filled = source.gather(schema, target, blanks, lambda table: checked(table, parts), self._progress())
        if first:
            self._remember_names(rows.frame)
            self.schema_, self.target_, self.tallies_ = schema, target, filled
            self.n_rows_, self.n_left_out_ = 0, 0
        else:
            self._join(schema, target, filled)
        self.n_rows_ += frame.n_rows
        done = self._progress()
        if done is not None:
            done(frame.n_rows)

    def _learn_target(self, rows: Memory, first: bool) -> Nominal:
        target = Nominal(rows.name, grows=True) if first else self.target_
        if first and getattr(self, "_expected", None):
            expected = tuple(sorted(self._expected))
            target = Nominal(rows.name, expected, grows=True, fixed=expected)
        if first:
            self._label_type = rows.label_type
        return target.learn(rows.target)

    def _join(self, schema: Schema, target: Nominal, tallies: Mapping[str, Any]) -> None:
        self.schema_ = self.schema_ | schema
        self.target_ = self.target_.join(target)
        self.tallies_ = {name: tally + tallies[name] for name, tally in self.tallies_.items()}

    def _fill(self, parts: list[Part], table: Table) -> dict[str, Any]:
        from countwise.tallies import fill_all

        target = self.target_
        blanks = {target.name: Counts((target,)), **{part.key: part.rule.blank(target, part.of) for part in parts}}
        return fill_all(blanks, table)

    def _adopt(self, other: Self) -> None:
        """Take over what another model of the same kind has learned."""
        for name in (
            "schema_",
            "target_",
            "tallies_",
            "n_rows_",
            "n_left_out_",
            "n_features_in_",
            "_label_type",
        ):
            setattr(self, name, getattr(other, name))
        if hasattr(other, "feature_names_in_"):
            self.feature_names_in_ = other.feature_names_in_

    def _forget_all(self) -> None:
        own = ("_expected", "_groups", "_label_type")
        for name in [n for n in vars(self) if n in own or (n.endswith("_") and not n.startswith("_"))]:
            delattr(self, name)

    def _progress(self) -> Progress | None:
        return progress.current()

    # -- notes -----------------------------------------------------------------

    def _remember_names(self, frame: Frame) -> None:
        sizes = [c.shape[1] if getattr(c, "ndim", 1) == 2 else 1 for c in frame.columns.values()]
        self.n_features_in_ = int(sum(sizes))
        if frame.named:
            self.feature_names_in_ = np.array(frame.names, dtype=object)

    def _note_left_out(self, left_out: int, of: int, name: str) -> None:
        if left_out:
            warnings.warn(
                f"{left_out} of {of} rows were left out: their target {name!r} is missing.", DataWarning, stacklevel=4
            )

    def _note_identifiers(self) -> None:
        looks = [
            a.name
            for a in self.schema_.attributes
            if isinstance(a, Nominal) and a.grows and not a.fixed
            if self.n_rows_ >= 100 and len(a.values) > 0.9 * self.n_rows_
        ]
        if looks:
            warnings.warn(
                f"{listed(looks)} look{'s' * (len(looks) == 1)} like an identifier: "
                "nearly every row has its own value. Hint: leave the column out, or declare it as text.",
                DataWarning,
                stacklevel=5,
            )

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The settings by name."""
        return {name: getattr(self, name) for name in list(signature(type(self).__init__).parameters)[1:]}

    def _settings(self) -> Any:
        """What must be the same in two models that are to be merged, in a form that can be compared."""
        return {name: plain(value) for name, value in self.get_params(deep=False).items()}

    def _check_fitted(self) -> None:
        if not hasattr(self, "tallies_"):
            from sklearn.exceptions import NotFittedError

            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments first."
            )

    # -- predicting ------------------------------------------------------------

    def _refuse_infinity(self, frame: Frame, table: Table, *, every: bool) -> None:
        """An infinity under a law of moments shows in the answer; elsewhere it must be looked for."""
        shows = {n for part in self.parts_ if isinstance(part.rule, SHOWS_INFINITY) for n in part.columns}
        columns: dict[str, Any] = {}
        for a in self.schema_.attributes:
            if a.name in shows and not every:
                continue
            if isinstance(a, Numeric):
                columns[a.name] = table[a.name]
            elif isinstance(a, Nominal) and isinstance(frame.columns[a.name], np.ndarray):
                columns[a.name] = frame.columns[a.name]
        refuse_infinity(columns)

    def _open(self, X: Any) -> Frame:
        self._check_fitted()
        frame = frame_of(X)
        if frame.n_rows == 0:
            raise TableError("Found array with 0 sample(s): the table is empty. At least one row is needed.")
        return self.schema_.opened(frame)

    def _table(self, frame: Frame, start: int, stop: int, *, every: bool = False) -> Table:
        """Rows start to stop encoded; an error names the row of the whole frame.

        An infinity under a law of moments shows in the answer, and is looked for only then (`every`).
        """
        strict = getattr(self, "unseen", "ignore") == "error"
        try:
            part = frame.slice(start, stop)
            table = self.schema_.encode(part, strict=strict)
            self._refuse_infinity(part, table, every=every)
            return derive(table, self.parts_)
        except CountwiseError as error:
            raise error if error.row is None else error.at(error.row + start) from None

    def _joint(self, X: Any, finish: Any) -> list[Any]:
        """Posteriors block by block: terms are added in cache, then `finish` takes the block."""
        frame = self._open(X)

        def work(start: int, stop: int) -> Any:
            table = self._table(frame, start, stop)
            answer = finish(table, start, stop)
            if answer[0]:  # rows that no class could have made: is it an infinity?
                self._table(frame, start, stop, every=True)
            return answer

        return _kernels.over_blocks(frame.n_rows, PREDICT_BLOCK, work, progress=self._progress())

    def _filled(self, X: Any, kind: Kind | None) -> NDArray[np.float64]:
        frame = self._open(X)
        out = np.empty((frame.n_rows, len(self.classes_)))
        priors = self._priors(frame.n_rows)

        def finish(table: Table, start: int, stop: int) -> tuple[int]:
            return (self._posterior(table, out[start:stop], kind, priors),)

        bad = sum(answer[0] for answer in self._joint(frame, finish))
        self._warn_of_zeros(bad, warn=kind is not None)
        return out

    def _priors(self, n_rows: int) -> NDArray[np.float64]:
        """Log P(class) for the rows of a block, to be copied in one go."""
        return np.tile(self.log_prior_, (min(n_rows, PREDICT_BLOCK), 1))

    def _posterior(self, table: Table, out: NDArray[np.float64], kind: Kind | None, priors: Any) -> int:
        """Fill out; returns how many rows no class could have made."""
        out[:] = priors[: len(out)]
        self._add_terms(table, out)
        if kind is None:
            return int(np.count_nonzero(~np.isfinite(out).any(axis=1)))
        bad = _kernels.normalize(out, kind)
        if bad:
            lost = np.isnan(out).any(axis=1)
            out[lost] = self.log_prior_ if kind == "log" else np.exp(self.log_prior_)
        return int(bad)

    def _warn_of_zeros(self, bad: int, *, warn: bool = True) -> None:
        """A row that no class could have made gets the prior, with a warning."""
        if not bad or not warn:
            return
        warnings.warn(
            f"In {bad} row{'s' * (bad > 1)} every class has probability 0: a value was never counted there. "
            "The prior is given instead. Hint: smoothing=1 keeps every product above 0.",
            DataWarning,
            stacklevel=4,
        )

    def predict_joint_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Log P(class) + Σ log P(attribute | class).

        Parameters
        ----------
        X : any table
            Columns are found by name, or by place in an array.

        Returns
        -------
        ndarray, shape (rows, classes)
        """
        return self._filled(X, None)

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Log P(class | row).

        Parameters
        ----------
        X : any table
            Columns are found by name, or by place in an array.

        Returns
        -------
        ndarray, shape (rows, classes)
        """
        return self._filled(X, "log")

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """P(class | row).

        Parameters
        ----------
        X : any table
            Columns are found by name, or by place in an array.

        Returns
        -------
        ndarray, shape (rows, classes)
        """
        return self._filled(X, "proba")

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class; at a tie the first of `classes_`.

        Parameters
        ----------
        X : any table
            Columns are found by name, or by place in an array.

        Returns
        -------
        ndarray, shape (rows,)
        """

        def finish(table: Table, start: int, stop: int) -> tuple[int, NDArray[Any]]:
            out = priors[: table.n_rows].copy()
            self._add_terms(table, out)
            codes = _kernels.argmax_rows(out)
            bad = ~np.isfinite(out[np.arange(len(codes)), codes])
            if bad.any():  # no class could have made the row: the prior decides
                codes[bad] = int(np.argmax(self.log_prior_))
            return int(np.count_nonzero(bad)), codes

        frame = self._open(X)
        priors = self._priors(frame.n_rows)
        pieces = self._joint(frame, finish)
        self._warn_of_zeros(sum(bad for bad, _ in pieces))
        return self.classes_[np.concatenate([codes for _, codes in pieces])]
