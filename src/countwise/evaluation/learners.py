"""Selection of the learners that suit a table, with the reasons for skipping others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from countwise._cached import lazy
from countwise._typing import Flags, Floats
from countwise.base.protocol import Transformer
from countwise.base.tally_model import TallyModel
from countwise.data.attributes import Attribute, Nominal, Numeric
from countwise.data.frames import Coded, frame_of, is_missing, is_sparse
from countwise.data.output import library_of
from countwise.data.schema import Schema
from countwise.data.text import Block, Text
from countwise.errors import OptionError, did_you_mean, listed
from countwise.evaluation.dataset import EvaluationData
from countwise.evaluation.learning_curve import named
from countwise.registry import KINDS, RECIPES, class_of

__all__ = ["NAMES", "ColumnTypes", "Matrix", "Suited", "suited"]


class Matrix(Transformer):
    """Convert any numeric table to a two-dimensional array, as a step of a pipeline."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Do nothing."""
        return self

    def transform(self, X: Any) -> Floats:
        """Stack the columns; missing values become NaN."""
        return np.column_stack([np.asarray(column, dtype=np.float64) for column in frame_of(X).columns.values()])

    def __sklearn_is_fitted__(self) -> bool:
        return True


MOST_ROWS = 20_000  # limit for learners that compare every row with every other, or are otherwise slow
MOST_TEXT_ROWS = 500  # limit for learners that consider a split on every word
MOST_COLUMNS = 500  # limit of encoded columns for learners that estimate a full covariance matrix


@dataclass(frozen=True, eq=False)
class ColumnTypes:
    """The types of the columns of a table; `types` contains those declared by the user."""

    data: EvaluationData
    types: Any = None

    @lazy
    def schema(self) -> Schema:
        """The schema, including the values of nominal columns."""
        frame = self.data.rows.frame
        return Schema.kinds(frame, self.types).learn(frame)

    def _of(self, *types: type) -> list[Any]:
        return [a for a in self.schema.attributes if isinstance(a, types)]

    @property
    def texts(self) -> list[str]:
        """Names of text columns and of blocks of word counts."""
        return [a.name for a in self._of(Text, Block)]

    @property
    def nominal(self) -> list[Any]:
        """Nominal and ordinal columns."""
        return self._of(Nominal)

    @property
    def numeric(self) -> list[str]:
        """Names of numeric and count columns."""
        return [a.name for a in self._of(Numeric)]

    @property
    def n_encoded(self) -> int:
        """The number of columns after dummy encoding of the nominal columns."""
        return len(self.numeric) + sum(max(len(a.values) - 1, 0) for a in self.nominal)

    def observed(self, name: str) -> Flags:
        """Return a mask of the rows in which a column is not missing."""
        own, column = self.schema[name], self.data.rows.frame.columns[name]
        if isinstance(own, Nominal):
            return np.asarray(own.encode(column) < len(own.values))
        return ~np.isnan(np.asarray(own.encode(column), dtype=np.float64))

    def seen(self, name: str) -> Attribute:
        """Return an attribute restricted to the values that occur: declared categories may be unused."""
        own = self.schema[name]
        if not isinstance(own, Nominal):
            return own
        codes = own.encode(self.data.rows.frame.columns[name])
        counted = np.bincount(codes, minlength=len(own.values) + 2)[: len(own.values)] > 0
        return Nominal(name, tuple(v for v, used in zip(own.values, counted, strict=True) if used))

    @lazy
    def has_missing(self) -> bool:
        """Whether the table has missing values."""
        return any(_has_missing(column) for column in self.data.rows.frame.columns.values())


def _has_missing(column: Any) -> bool:
    if isinstance(column, Coded):
        codes = np.asarray(column.codes).astype(np.int64)
        return bool(((codes < 0) | (codes >= len(column.categories))).any())
    if is_sparse(column) or not isinstance(column, np.ndarray):
        return False
    if column.dtype.kind == "f":
        return bool(np.isnan(column).any())
    return column.dtype.kind == "O" and any(is_missing(cell) for cell in column.ravel())


# -- the learners of the package -----------------------------------------------------------

NAMES = tuple(RECIPES)


def _against(reason: str, columns: ColumnTypes) -> str | None:
    """Return the message for a reason named in a learner's recipe if it applies to the table, else None."""
    n, odd = len(columns.data), columns.numeric or columns.texts
    match reason:
        case "no numbers" if not columns.numeric:
            return "there are no numeric columns: the model would be the same as naive Bayes"
        case "no pairs" if len(columns.numeric) + len(columns.nominal) < 2:
            return "it needs at least two attributes that are not text"
        case "texts" if columns.texts:
            return f"it does not support text columns: {listed(columns.texts, 3)}"
        case "not nominal" if odd:
            return f"it matches identical rows, and numbers or texts rarely repeat: {listed(odd, 3)}"
        case "many columns" if columns.n_encoded > MOST_COLUMNS:
            return f"the table has {columns.n_encoded:,} columns after encoding; the limit is {MOST_COLUMNS:,}"
        case "many texts" | "many texts or rows" if columns.texts and n > MOST_TEXT_ROWS:
            return f"it tests every word: {n:,} rows of text exceed the limit of {MOST_TEXT_ROWS:,}"
        case "many rows" if n > MOST_ROWS:
            return f"it compares every row with every other: {n:,} rows exceed the limit of {MOST_ROWS:,}"
        case "many texts or rows" if n > MOST_ROWS:
            return f"it is slow on many rows: {n:,} rows exceed the limit of {MOST_ROWS:,}"
    return None


@dataclass(frozen=True, eq=False)
class Suited:
    """The learners to compare, and those that are skipped."""

    learners: dict[str, Any]
    skipped: dict[str, str]  # the reason for each learner that does not suit the table
    notes: dict[str, str]  # the preprocessing that was added to a learner


def suited(columns: ColumnTypes, given: Any = None, only: Any = None, without: Any = None) -> Suited:
    """Select the learners that suit a table, from those of the package and those passed by the user.

    Names in `only` and `without` are matched by letters and digits alone, ignoring case.
    """
    theirs = {} if given is None or (isinstance(given, Mapping | Sequence) and not given) else named(given)
    for name in theirs:
        if _word(name) in {_word(own) for own in (*NAMES, "majority class")}:
            raise OptionError(
                f"The name {name!r} is taken by a learner of the package.", hint="use another name for the learner."
            )
    every = [*NAMES, *theirs]
    wanted, unwanted = _chosen(only, every), _chosen(without, every) or []
    found = Suited({}, {}, {})
    for name in every:
        if name in unwanted or (wanted is not None and name not in wanted and name not in theirs):
            continue
        if name in theirs:
            _take_theirs(name, theirs[name], columns, found)
            continue
        recipe = RECIPES[name]
        why = _against(recipe.cannot, columns) or (_against(recipe.slow, columns) if wanted is None else None)
        if why is not None:
            found.skipped[name] = why
            continue
        learner = found.learners[name] = class_of(KINDS[recipe.kind])(**recipe.settings)
        if recipe.kind == "Discriminant" and columns.nominal:
            learner.set_params(nominal="onehot")
        if columns.types is not None:
            learner.set_params(types=columns.types)
    return found


def _word(name: str) -> str:
    return "".join(letter for letter in name.casefold() if letter.isalnum())


def _chosen(given: Any, every: Sequence[str]) -> list[str] | None:
    if given is None:
        return None
    by_word = {_word(name): name for name in every}
    found = []
    if not isinstance(given, Iterable):
        raise OptionError(f"only and without must be names of learners, not {given!r}.")
    for name in [given] if isinstance(given, str) else given:
        if _word(str(name)) not in by_word:
            raise OptionError(
                f"There is no learner {name!r}.",
                hint=did_you_mean(name, every) or f"choose among {listed(every, 20)}.",
            )
        found.append(by_word[_word(str(name))])
    return found


# -- learners passed by the user -----------------------------------------------------------


def _take_theirs(name: str, learner: Any, columns: ColumnTypes, found: Suited) -> None:
    """Add a user's estimator, behind an encoder and an imputer if it needs numbers without missing values."""
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import Pipeline
    from sklearn.utils import get_tags

    from countwise.preprocessing.encoder import CategoricalEncoder

    if _takes_tables(learner):
        found.learners[name] = learner
        return
    takes_missing = get_tags(learner).input_tags.allow_nan
    if columns.texts and not is_sparse(columns.data.rows.X):
        found.skipped[name] = f"it does not support text columns: {listed(columns.texts, 3)} (pass a pipeline)"
        return
    many = _against("many columns", columns) if columns.nominal else None
    if many is not None:
        found.skipped[name] = many
        return
    steps: list[tuple[str, Any]] = []
    steps_used = []
    if columns.nominal:
        steps.append(("encoder", CategoricalEncoder(types=columns.types)))
        steps_used.append("CategoricalEncoder (encodes nominal columns)")
    if steps or library_of(columns.data.rows.X) == "mapping":
        steps.append(("matrix", Matrix()))
    if columns.has_missing and not takes_missing:
        steps.append(("imputer", SimpleImputer(keep_empty_features=True)))
        steps_used.append("SimpleImputer (replaces missing values by means)")
    found.learners[name] = Pipeline([*steps, ("learner", learner)]) if steps else learner
    if steps_used:
        found.notes[name] = f"fitted behind {' and '.join(steps_used)}"


def _takes_tables(learner: Any) -> bool:
    """Return whether a learner, or the estimator that it wraps, accepts a table with any column types."""
    from sklearn.pipeline import Pipeline

    if isinstance(learner, TallyModel | Pipeline) or type(learner).__module__.partition(".")[0] == "countwise":
        return True
    inner = getattr(learner, "estimator", None)
    return inner is not None and _takes_tables(inner)
