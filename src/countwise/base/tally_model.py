"""Base class of learners whose learned state is a set of tallies: fitting, merging and forgetting.

A new learner implements `_infer_schema`, `_terms` and `_estimate`. `tallies_` is the only learned state: every other
attribute is derived from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from countwise.base.model import Model, note_identifiers, note_many_classes, note_skipped, restore_on_error
from countwise.base.term import Term, blank_tallies, requests_of
from countwise.data.attributes import Nominal
from countwise.data.frames import Frame
from countwise.data.schema import Schema
from countwise.data.text import Text
from countwise.data.vectors import Vector
from countwise.errors import CountwiseError, TableError, TooFewRows, UnseenValueError, listed
from countwise.jsonfile import plain
from countwise.sources import EnginePart, Memory, open_parts
from countwise.tallies import Request, Rows, Scatter, Values, add_all, tally_from

__all__ = ["TallyModel"]


@contextmanager
def _values_as_learned() -> Iterator[None]:
    """Say in the hint about an unseen value that only rows of the training data can be forgotten."""
    try:
        yield
    except UnseenValueError as error:
        near = error.hint if error.hint and error.hint.startswith("did you mean") else None
        hint = near or "forget only rows that were passed to fit or partial_fit."
        raise UnseenValueError(error.message, hint=hint, row=error.row) from None


@contextmanager
def _rows_as_given(part: Memory | EnginePart) -> Iterator[None]:
    """Make errors about a row name the row of the user's table."""
    try:
        yield
    except CountwiseError as error:
        raise part.counted_as_given(error) from None


class TallyModel(Model):
    """Learner whose learned state is its tallies.

    Because tallies can be added and subtracted, rows can be added (`partial_fit`), removed (`forget`), and models can
    be merged (``a + b``), all without the earlier rows.
    """

    target_: Nominal
    tallies_: dict[str, Any]
    n_left_out_: int
    _label_type: np.dtype[Any] | None
    _known_target: bool
    feature_names_in_: NDArray[Any]
    _learned = ("_built", "_expected", "_groups", "_label_type", "_known_target", "_waiting")

    # -- implemented by each learner -----------------------------------------

    def _infer_schema(self, frame: Frame) -> Schema:
        """Return the type of each column, before its values are learned."""
        raise NotImplementedError

    def _terms(self, schema: Schema, target: str) -> list[Term]:
        """Return the terms: which columns are tallied, and by which distribution."""
        raise NotImplementedError

    def _estimate(self) -> None:
        """Estimate all parameters from `tallies_`."""
        raise NotImplementedError

    def _coerce_input(self, X: Any) -> Any:
        """Convert the table to a form that the learner accepts."""
        return X

    def _needs_target(self) -> bool:
        """Return whether rows without a target are skipped."""
        return True

    # -- learning ------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the model to training rows.

        A previous fit is discarded. Rows with a missing target are skipped, with a warning. A file is read in chunks,
        so it may be larger than memory.

        Examples
        --------
        >>> from countwise import NaiveBayesClassifier, samples
        >>> tennis = samples.load("tennis")
        >>> model = NaiveBayesClassifier().fit(tennis.X, tennis.y)
        >>> model = NaiveBayesClassifier().fit(tennis.frame, "play")  # the same; the target is a column of the table
        >>> model.class_count_.tolist()
        [5, 9]
        """
        with restore_on_error(self):
            self._forget_all()
            return self._learn(X, y, sample_weight)

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add training rows to the model.

        The result is the same as that of `fit` on all rows together, however they are split. Only a
        `BayesNetworkClassifier` differs: it keeps the structure and the cut points of the first call.

        Examples
        --------
        >>> import pandas as pd
        >>> from countwise import NaiveBayesClassifier, samples
        >>> tennis = pd.DataFrame(samples.load("tennis").frame)
        >>> model = NaiveBayesClassifier().partial_fit(tennis[:6], "play").partial_fit(tennis[6:], "play")
        >>> model.n_rows_, model.class_count_.tolist()
        (14, [5, 9])
        """
        with restore_on_error(self):
            if classes is not None and not hasattr(self, "target_"):
                self._expected = [c.item() if isinstance(c, np.generic) else c for c in np.asarray(classes)]
            return self._learn(X, y, sample_weight, allow_incomplete=True)

    def forget(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Remove training rows from the model.

        The result is the same as that of `fit` without these rows. The rows are subtracted from the tallies; values
        and classes that no other row has are removed too. Only a `BayesNetworkClassifier` differs: it keeps its
        structure and its cut points.

        Examples
        --------
        >>> import pandas as pd
        >>> from countwise import NaiveBayesClassifier, samples
        >>> tennis = pd.DataFrame(samples.load("tennis").frame)
        >>> model = NaiveBayesClassifier().fit(tennis, "play")
        >>> model.forget(tennis[12:], "play").class_count_.tolist()
        [4, 8]
        """
        self._check_fitted(answers=False)
        with restore_on_error(self):
            for part in self._open_parts(X, y, sample_weight):
                with _rows_as_given(part), _values_as_learned():
                    self._subtract_rows(part)
            if not self.tallies_[self.target_.name].table.sum() > 0:
                raise TableError("Forgetting these rows would leave no training rows.", hint="keep at least one row.")
            self._shrink_domains()
            self._estimate_or_wait(allow_incomplete=False)
        return self

    def _subtract_rows(self, part: Memory | EnginePart) -> None:
        """Subtract rows from the tallies; a value or class that was never counted is an error."""
        target = self._matching_target(part.known)
        fixed = Nominal(target.name, target.values, grows=False) if isinstance(part, Memory) else target
        counted = part.count(self.schema_, fixed, self._requests, type(self).__name__, learn=False)
        self.tallies_ = {name: tally - counted.tallies[name] for name, tally in self.tallies_.items()}
        self.n_rows_ -= counted.n_rows

    def _shrink_domains(self) -> None:
        """Remove the values, words and classes that only forgotten rows had."""
        left: dict[str, Any] = {self.target_.name: self.target_.without(self.tallies_[self.target_.name].of_last)}
        for part in self._terms(self.schema_, self.target_.name):
            tally = self.tallies_[part.key]
            if part.as_given and isinstance(part.of, Nominal):
                left[part.key] = part.of.without(tally.of_last)
            elif part.as_given and isinstance(part.of, Text):
                left[part.key] = part.of.without(tally.filled[1].sum(axis=0))
            elif isinstance(part.of, Vector):
                left[part.key] = part.of.without(tally.counts())
                left.update({a.name: a for a in left[part.key].attributes})
        self.target_ = left[self.target_.name]
        self.schema_ = Schema(left.get(a.name, a) for a in self.schema_.attributes)
        self.tallies_ = {name: tally.within(left) for name, tally in self.tallies_.items()}

    def __add__(self, other: object) -> Self:
        """Merge two models: the result is the same as that of `fit` on the rows of both.

        Parameters
        ----------
        other : estimator of the same class
            A fitted model with the same settings and the same target.

        Returns
        -------
        estimator
            A new model; neither operand changes.

        Examples
        --------
        >>> import pandas as pd
        >>> from countwise import NaiveBayesClassifier, samples
        >>> tennis = pd.DataFrame(samples.load("tennis").frame)
        >>> a, b = (NaiveBayesClassifier().fit(half, "play") for half in (tennis[:7], tennis[7:]))
        >>> (a + b).n_rows_
        14
        """
        if type(other) is not type(self):
            return NotImplemented
        self._check_fitted(answers=False)
        other._check_fitted(answers=False)
        mine, theirs = self._settings(), other._settings()
        if mine != theirs:
            odd = [name for name in mine if mine[name] != theirs.get(name)]
            raise TableError(
                f"Models with different settings cannot be merged; they differ in {listed(odd)}.",
                hint="fit both with the same settings.",
            )
        if self.target_.name != other.target_.name:
            raise TableError(
                f"The models predict different targets: {self.target_.name!r} and {other.target_.name!r}.",
                hint="fit both models with the same target.",
            )
        merged = self._blank()
        merged._add_tallies(self)
        merged._add_tallies(other)
        merged._estimate_or_wait(allow_incomplete=True)
        return merged

    # -- models of parts of the rows ------------------------------------------------------

    def _adds_up(self) -> bool:
        """Return whether everything learned follows from the tallies, so that merged models equal one fit."""
        return True

    def _blank(self) -> Self:
        """Return an unfitted model with the same settings."""
        return type(self)(**self.get_params(deep=False))

    def _tally_rows(self, rows: Memory) -> Self:
        """Return a model that has tallied some rows, without estimating any parameter."""
        model = self._blank()
        if rows.frame.n_rows:
            model._learn_part(rows)
        return model

    def _add_tallies(self, other: Self) -> None:
        """Add the tallies of another model, without estimating any parameter; the other is unchanged."""
        if not hasattr(other, "tallies_"):
            return
        if not hasattr(self, "tallies_"):
            self._adopt(other)
            return
        joined = other._blank()
        joined._adopt(other)
        self._retype_empty_columns(other.schema_)
        joined._retype_empty_columns(self.schema_)
        self._join(joined.schema_, joined.target_, joined.tallies_)
        self.n_rows_ += other.n_rows_
        self.n_left_out_ += other.n_left_out_

    def _open_parts(self, X: Any, y: Any, sample_weight: Any) -> Iterator[Memory | EnginePart]:
        """Yield the parts of a table: rows in memory, chunks of a file, or an engine table."""
        return open_parts(self._coerce_input(X), y, sample_weight, needs_target=self._needs_target())

    def _learn(self, X: Any, y: Any, sample_weight: Any, *, allow_incomplete: bool = False) -> Self:
        skipped, n_rows, name = 0, 0, ""
        for part in self._open_parts(X, y, sample_weight):
            skipped, n_rows, name = skipped + part.left_out, n_rows + part.n_rows, part.name
            if part.n_rows or isinstance(part, EnginePart):
                self._learn_part(part)
        if not n_rows:
            raise TableError(
                "The table is empty or its target is missing in every row; at least one row with a target is needed."
            )
        self.n_left_out_ += skipped
        note_skipped(skipped, n_rows + skipped, name)
        note_identifiers(self.schema_, self.n_rows_)
        note_many_classes(self.target_, self.n_rows_)
        self._estimate_or_wait(allow_incomplete=allow_incomplete)
        return self

    def _learn_part(self, part: Memory | EnginePart) -> None:
        """Count one part and add its tallies."""
        with _rows_as_given(part):
            self._count_in(part)

    def _count_in(self, part: Memory | EnginePart) -> None:
        """Infer the schema or reuse the present one, learn new values, and add the tallies of a part."""
        fresh = not hasattr(self, "tallies_")
        if fresh:
            schema, target = self._infer_schema(part.frame), self._first_target(part.name)
        else:
            self._retype_empty_columns(self._infer_schema(part.matched(self.schema_)))
            schema, target = self.schema_, self._matching_target(part.known)
        counted = part.count(schema, target, self._requests, type(self).__name__)
        if fresh:
            vars(self).update(self._names(part.frame))
            self._label_type, self._known_target = counted.label_type, part.known
            self.schema_, self.target_, self.tallies_ = counted.schema, counted.target, counted.tallies
            self.n_rows_, self.n_left_out_ = 0, 0
        else:
            self._join(counted.schema, counted.target, counted.tallies)
        self.n_rows_ += counted.n_rows

    def _requests(self, schema: Schema, target: Nominal) -> dict[str, Request]:
        terms = self._terms(schema, target.name)
        self._built = (schema, target, terms)
        return requests_of(terms, target)

    def _terms_now(self) -> list[Term]:
        """Return the current terms, reusing those of the last count if nothing has changed since."""
        schema, target, terms = vars(self).pop("_built", (None, None, None))
        if terms is not None and schema is self.schema_ and target is self.target_:
            return list(terms)
        return self._terms(self.schema_, self.target_.name)

    def _estimate_or_wait(self, *, allow_incomplete: bool) -> None:
        """Estimate the parameters.

        If `allow_incomplete` is true, too few rows are an error only when a prediction is requested.
        """
        self._waiting: TooFewRows | None = None
        try:
            self._estimate()
        except TooFewRows as reason:
            if not allow_incomplete:
                raise
            self._waiting = reason

    def _retype_empty_columns(self, other: Schema) -> None:
        """Give a column with only missing values so far the type that it has in `other`."""
        unknown = {
            a.name: other[a.name]
            for a in self.schema_.attributes
            if self._is_unknown(a) and a.name in other and not isinstance(other[a.name], type(a))
        }
        if not unknown:
            return
        self.schema_ = Schema(unknown.get(a.name, a) for a in self.schema_.attributes)
        fresh = blank_tallies(self._terms(self.schema_, self.target_.name), self.target_)
        for name, blank in fresh.items():
            kept = self.tallies_.get(name)
            if isinstance(blank, Scatter | Rows):  # the values of the retyped column are missing in it
                kept = replace(self.tallies_[name], of=blank.of)
            fresh[name] = kept if type(kept) is type(blank) else blank
        self.tallies_ = fresh

    def _is_unknown(self, a: Any) -> bool:
        """Return whether all values of an attribute have been missing so far."""
        return type(a) is Nominal and bool(a.grows) and not a.values

    def _first_target(self, name: str) -> Nominal:
        if not getattr(self, "_expected", None):
            return Nominal(name, grows=True)
        expected = tuple(sorted(self._expected))
        return Nominal(name, expected, grows=True, fixed=expected)

    def _matching_target(self, known: bool) -> Nominal:
        if known != getattr(self, "_known_target", True):
            raise TableError(
                "Some rows were passed with a target and some without.", hint="pass y for all chunks, or for none."
            )
        return self.target_

    def _join(self, schema: Schema, target: Nominal, tallies: Mapping[str, Any]) -> None:
        for name, tally in self.tallies_.items():
            other = tallies.get(name)
            if other is None and name in self.schema_:
                raise TableError(
                    f"The rows cannot be combined: only one of the two parts has a column {name!r}.",
                    hint="use the same columns for both.",
                )
            if type(other) is not type(tally) or getattr(other, "higher", None) != getattr(tally, "higher", None):
                raise TableError(
                    f"The rows cannot be combined: {name!r} is counted differently in the two parts.",
                    hint="use the same column types and settings for both, or call fit with all rows.",
                )
        self.schema_ = self.schema_ | schema
        self.target_ = self.target_.join(target)
        self.tallies_ = add_all(self.tallies_, tallies)

    def _adopt(self, other: Self) -> None:
        """Copy the learned attributes of another model of the same class."""
        learned = ("schema_", "target_", "tallies_", "n_rows_", "n_left_out_", "n_features_in_")
        for name in (*learned, "_label_type", "_known_target", "_library"):
            setattr(self, name, getattr(other, name, None))
        if hasattr(other, "feature_names_in_"):
            self.feature_names_in_ = other.feature_names_in_

    def _state(self) -> dict[str, Any]:
        """Return everything learned besides the schema as plain data, for the model file."""
        return {
            "known": bool(getattr(self, "_known_target", True)),
            "library": getattr(self, "_library", None),
            "tallies": {name: tally.to_dict() for name, tally in self.tallies_.items()},
        }

    def _revive(self, state: Mapping[str, Any]) -> None:
        """Restore the learned attributes from the data of `_state`."""
        self._known_target = bool(state.get("known", True))
        if state.get("library") in ("pandas", "polars", "pyarrow", "mapping"):
            self._library = state["library"]
        attributes: dict[str, Any] = {a.name: a for a in (*self.schema_.attributes, self.target_)}
        attributes |= {part.key: part.of for part in self._terms(self.schema_, self.target_.name)}
        self.tallies_ = {name: tally_from(data, attributes) for name, data in state["tallies"].items()}
        self._estimate()

    def _release(self) -> None:
        """Free memory that was only needed for the estimation."""
        for tally in self.tallies_.values():
            if isinstance(tally, Values):
                tally.release()

    def _settings(self) -> Any:
        """Return the settings in a comparable form; merged models must agree in them."""
        return {name: plain(value) for name, value in self.get_params(deep=False).items()}

    def _check_fitted(self, *, answers: bool = True) -> None:
        if answers and getattr(self, "_waiting", None) is not None:
            raise self._waiting  # type: ignore[misc]
        super()._check_fitted(answers=answers)
