"""Base class of learners whose learned state is a set of tallies: fitting, merging and forgetting.

A new learner implements `_infer_schema`, `_terms` and `_estimate`. `tallies_` is the only learned state: every other
attribute is derived from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from countwise.base.model import Model, note_identifiers, note_many_classes, note_skipped, restore_on_error
from countwise.base.term import Term, blank_tallies, requests_of
from countwise.data.attributes import Nominal, Numeric, Ordinal
from countwise.data.columns import has_values, joined_dtype
from countwise.data.derived import Absent
from countwise.data.frames import Frame
from countwise.data.schema import Schema, field_types
from countwise.data.text import Text
from countwise.data.vectors import Vector
from countwise.errors import CountwiseError, TableError, TooFewRows, UnseenValueError, listed
from countwise.io.paths import is_paths
from countwise.jsonfile import plain
from countwise.sources import EnginePart, Memory, open_parts
from countwise.tallies import Counts, Request, Rows, Scatter, Values, add_all, tally_from

__all__ = ["TallyModel", "check_tallies", "is_untyped", "rows_as_given"]


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
def rows_as_given(part: Memory | EnginePart) -> Iterator[None]:
    """Make errors about a row name the row of the user's table."""
    try:
        yield
    except CountwiseError as error:
        raise part.counted_as_given(error) from None


def check_tallies(tallies: Mapping[str, Any], blanks: Mapping[str, Any]) -> None:
    """Raise ValueError if tallies of a file are not those that the model requests."""
    if set(tallies) != set(blanks):
        raise ValueError("the tallies do not match the columns")
    for name, blank in blanks.items():
        if type(tallies[name]) is not type(blank) or tallies[name].request != blank.request:
            raise ValueError(f"the tally of {name!r} is not the one that its distribution needs")


def is_untyped(a: Any) -> bool:
    """Return whether a column without any value has no type that follows from its dtype."""
    return isinstance(a, Nominal) and bool(a.grows) and not a.values


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
    _waiting: TooFewRows | None
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

        The result is the same as that of `fit` on all rows together, however they are split and in any order. Only a
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
                self._expected = np.asarray(classes if hasattr(classes, "__array__") else list(classes))
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
                with rows_as_given(part), _values_as_learned():
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
        target = self.target_.name
        left: dict[str, Any] = {target: self.target_.without(self.tallies_[target].of_last, occurring=True)}
        for part in self._terms(self.schema_, target):
            tally = self.tallies_[part.key]
            if part.as_given and isinstance(part.of, Nominal) and part.key != target:
                left[part.key] = part.of.without(tally.of_last)
            elif part.as_given and isinstance(part.of, Text):
                left[part.key] = part.of.without(tally.filled[1].sum(axis=0))
            elif isinstance(part.of, Vector):
                left[part.key] = part.of.without(tally.counts())
                left.update({a.name: a for a in left[part.key].attributes})
        self.target_ = left[target]
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
        self._retype_empty_columns(other.schema_, lambda name: not other._is_unknown(other.schema_[name]))
        joined._retype_empty_columns(self.schema_, lambda name: not self._is_unknown(self.schema_[name]))
        self._label_type = joined_dtype(self._label_type, other._label_type)
        self._join(joined.schema_, joined.target_, joined.tallies_)
        self.n_rows_ += other.n_rows_
        self.n_left_out_ += other.n_left_out_

    def _open_parts(self, X: Any, y: Any, sample_weight: Any) -> Iterator[Memory | EnginePart]:
        """Yield the parts of a table: rows in memory, chunks of a file, or an engine table."""
        types = None
        if is_paths(X):
            known = hasattr(self, "tallies_")
            schema = {**self.schema_, self.target_.name: self.target_} if known else getattr(self, "types", None)
            types = field_types(schema)
        return open_parts(self._coerce_input(X), y, sample_weight, needs_target=self._needs_target(), types=types)

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
        if not hasattr(self, "tallies_"):  # a network of complete rows
            reason = TooFewRows("Every row has a missing value.", hint="use missing='em' or missing='available'.")
            if not allow_incomplete:
                raise reason
            self._waiting = reason
            return self
        self.n_left_out_ += skipped
        note_skipped(skipped, n_rows + skipped, name)
        note_identifiers(self.schema_, self.n_rows_)
        note_many_classes(self.target_, self.n_rows_)
        self._estimate_or_wait(allow_incomplete=allow_incomplete)
        return self

    def _learn_part(self, part: Memory | EnginePart) -> None:
        """Count one part and add its tallies."""
        with rows_as_given(part):
            self._count_in(part)

    def _count_in(self, part: Memory | EnginePart) -> None:
        """Infer the schema or reuse the present one, learn new values, and add the tallies of a part."""
        fresh = not hasattr(self, "tallies_")
        if fresh:
            schema, target = self._infer_schema(part.frame), self._first_target(part.name)
        else:
            self._retype_by(part)
            schema, target = self.schema_, self._matching_target(part.known)
        counted = part.count(schema, target, self._requests, type(self).__name__)
        if fresh:
            vars(self).update(self._names(part.frame))
            self._label_type, self._known_target = counted.label_type, part.known
            self.schema_, self.target_, self.tallies_ = counted.schema, counted.target, counted.tallies
            self.n_rows_, self.n_left_out_ = 0, 0
        else:
            self._label_type = joined_dtype(self._label_type, counted.label_type)
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
        self._waiting = None
        try:
            self._estimate()
        except TooFewRows as reason:
            if not allow_incomplete:
                raise
            self._waiting = reason

    def _retype_by(self, part: Memory | EnginePart) -> None:
        """Give columns without a value so far the types that they have in a part; its ordered values must agree."""
        frame = part.matched(self.schema_)
        new = [name for name in part.frame.columns if name not in self.schema_] if part.frame.named else []
        if new:
            raise TableError(
                f"The model has no column{'s' * (len(new) > 1)} {listed(new)}: the first rows did not have "
                f"{'them' if len(new) > 1 else 'it'}.",
                hint="pass the same columns with all rows, and None for missing values; or drop the column.",
            )
        inferred = self._infer_schema(frame)
        for a in self.schema_.attributes:
            other = inferred[a.name]
            if isinstance(a, Ordinal) and isinstance(other, Ordinal) and other.values and not other.grows:
                a.join(other)
        self._retype_empty_columns(
            inferred, lambda name: isinstance(part, EnginePart) or has_values(frame.columns[name])
        )

    def _retype_empty_columns(self, other: Schema, known: Callable[[str], bool]) -> None:
        """Give a column without a value so far the type that it has in `other`, if it is `known` there.

        If a column has no values in either of them, a type that follows from its dtype is preferred to none.
        """
        retyped = {
            a.name: other[a.name]
            for a in self.schema_.attributes
            if a.name in other and other[a.name] != a and self._is_unknown(a)
            if is_untyped(a) or known(a.name)
        }
        if not retyped:
            return
        self._set_schema(Schema(retyped.get(a.name, a) for a in self.schema_.attributes))
        blanks = blank_tallies(self._terms(self.schema_, self.target_.name), self.target_)
        old = self.tallies_
        self.tallies_ = {name: self._retyped(old.get(name), blank, retyped) for name, blank in blanks.items()}

    def _set_schema(self, schema: Schema) -> None:
        """Replace the schema by one with other types."""
        self.schema_ = schema

    def _retyped(self, kept: Any, blank: Any, types: Mapping[str, Any]) -> Any:
        """Return a tally after the type of a column without values has changed."""
        if isinstance(blank, Scatter | Rows):  # the values of the retyped column are missing in it
            return replace(kept, of=blank.of)
        if type(kept) is type(blank):
            return kept.within(types)
        if isinstance(blank, Counts) and blank.axes[:-1] in ((), (self.target_,)):  # missing in all rows so far
            cells, rows = blank.filled, self.tallies_[self.target_.name].filled
            cells = cells.astype(rows.dtype)
            cells[..., -1] = rows if cells.ndim > 1 else rows.sum()
            return replace(blank, cells=cells)
        return blank

    def _is_unknown(self, a: Any) -> bool:
        """Return whether all values of an attribute have been missing so far, so that its type may change."""
        if not isinstance(a, Numeric):
            return is_untyped(a)
        tallies = getattr(self, "tallies_", {})
        terms = [term for term in self._terms(self.schema_, self.target_.name) if a.name in term.columns]
        counted = [tallies[term.key] for term in terms if type(term.derived) is not Absent and term.key in tallies]
        return bool(counted) and not any(tally._has_values(a.name) for tally in counted)

    def _first_target(self, name: str) -> Nominal:
        target = Nominal(name, grows=True)
        if "_expected" not in vars(self):
            return target
        target = target.learn(self._expected, occurring=True)
        return replace(target, fixed=target.values)

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
        terms = self._terms(self.schema_, self.target_.name)
        attributes |= {part.key: part.of for part in terms}
        self.tallies_ = {name: tally_from(data, attributes) for name, data in state["tallies"].items()}
        check_tallies(self.tallies_, blank_tallies(terms, self.target_))
        self._check_classes()
        self._estimate()

    def _check_classes(self) -> None:
        """Raise ValueError if a tally of a file has more rows of a class than the class counts."""
        classes = self.tallies_[self.target_.name].table.astype(np.float64)
        if classes.sum() <= 0:
            raise ValueError("no class has any rows")
        for name, tally in self.tallies_.items():
            weights = tally.of_classes[: len(classes)]
            if (weights > classes + 1e-6 * classes.sum()).any():
                raise ValueError(f"{name!r} has more rows of a class than the class has")

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
