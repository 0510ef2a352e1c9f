"""Which learners suit a table, and why others do not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
from countwise.registry import KINDS, RECIPES, Recipe, class_of

__all__ = ["NAMES", "Kinds", "Matrix", "Suited", "suited"]


class Matrix(Transformer):
    """Any table of numbers as a matrix; a step of a pipeline, and nothing is learned."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Nothing to learn."""
        return self

    def transform(self, X: Any) -> Floats:
        """The columns side by side; missing is NaN."""
        return np.column_stack([np.asarray(column, dtype=np.float64) for column in frame_of(X).columns.values()])

    def __sklearn_is_fitted__(self) -> bool:
        return True


MOST_ROWS = 20_000  # of learners that compare every row with every other
MOST_TEXT_ROWS = 500  # of learners that may ask for every word
MOST_NUMBERS = 500  # that names become, each with a covariance with every other


@dataclass(frozen=True, eq=False)
class Kinds:
    """What the columns of a table are.

    Parameters
    ----------
    ground : EvaluationData
        The table.
    types : mapping or Schema, optional
        What the user declares.
    """

    ground: EvaluationData
    types: Any = None

    @lazy
    def schema(self) -> Schema:
        """With the values of columns of names."""
        frame = self.ground.rows.frame
        return Schema.kinds(frame, self.types).learn(frame)

    def of(self, *kinds: type) -> list[Attribute]:
        """The attributes of some kinds."""
        return [a for a in self.schema.attributes if isinstance(a, kinds)]

    @property
    def texts(self) -> list[str]:
        """Columns of texts, and blocks of counts."""
        return [a.name for a in self.of(Text, Block)]

    @property
    def names(self) -> list[Any]:
        """Columns of names and orders."""
        return self.of(Nominal)

    @property
    def numbers(self) -> list[str]:
        """Columns of numbers and counts."""
        return [a.name for a in self.of(Numeric)]

    @property
    def n_numbers(self) -> int:
        """How many numbers a row is, if names are told by a number for each value but the first."""
        return len(self.numbers) + sum(max(len(a.values) - 1, 0) for a in self.names)

    def there(self, name: str) -> Flags:
        """In which rows a column has a cell."""
        own, column = self.schema[name], self.ground.rows.frame.columns[name]
        if isinstance(own, Nominal):
            return np.asarray(own.encode(column) < len(own.values))
        return ~np.isnan(np.asarray(own.encode(column), dtype=np.float64))

    def met(self, name: str) -> Attribute:
        """An attribute with the values that some row has: categories may be declared and never met."""
        own = self.schema[name]
        if not isinstance(own, Nominal):
            return own
        codes = own.encode(self.ground.rows.frame.columns[name])
        seen = np.bincount(codes, minlength=len(own.values) + 2)[: len(own.values)] > 0
        return Nominal(name, tuple(v for v, met in zip(own.values, seen, strict=True) if met))

    @lazy
    def gaps(self) -> bool:
        """Whether cells are missing."""
        return any(_has_gaps(column) for column in self.ground.rows.frame.columns.values())


def _has_gaps(column: Any) -> bool:
    if isinstance(column, Coded):
        codes = np.asarray(column.codes).astype(np.int64)
        return bool(((codes < 0) | (codes >= len(column.categories))).any())
    if is_sparse(column) or not isinstance(column, np.ndarray):
        return False
    if column.dtype.kind == "f":
        return bool(np.isnan(column).any())
    return column.dtype.kind == "O" and any(is_missing(cell) for cell in column.ravel())


# -- the learners of the package -----------------------------------------------------------

Why = str | None


def _always(_: Kinds) -> Why:
    return None


def _with_numbers(kinds: Kinds) -> Why:
    return None if kinds.numbers else "there are no columns of numbers: it would be naive Bayes again"


def _with_pairs(kinds: Kinds) -> Why:
    free = len(kinds.numbers) + len(kinds.names)
    return None if free > 1 else "there are no two attributes beside texts that could depend on each other"


def _without_texts(kinds: Kinds) -> Why:
    return f"it takes no texts: {listed(kinds.texts, 3)}" if kinds.texts else None


def _all_names(kinds: Kinds) -> Why:
    odd = kinds.numbers or kinds.texts
    return f"the same numbers or texts hardly come twice: {listed(odd, 3)}" if odd else None


def _few_numbers(kinds: Kinds) -> Why:
    n = kinds.n_numbers
    return None if n <= MOST_NUMBERS else f"names would become {n:,} numbers; the limit is {MOST_NUMBERS:,}"


def _few_rows(kinds: Kinds) -> Why:
    n = len(kinds.ground)
    return None if n <= MOST_ROWS else f"it compares all rows: {n:,} are over the limit of {MOST_ROWS:,}"


def _few_texts(kinds: Kinds) -> Why:
    n = len(kinds.ground)
    if not kinds.texts or n <= MOST_TEXT_ROWS:
        return None
    return f"it may ask for every word: {n:,} rows of texts are over the limit of {MOST_TEXT_ROWS:,}"


def _few_branches(kinds: Kinds) -> Why:
    return _few_texts(kinds) or _few_rows(kinds)


# Reasons against a learner, by the names that the recipes use.
_REASONS: dict[str, Callable[[Kinds], Why]] = {
    "": _always,
    "no numbers": _with_numbers,
    "no pairs": _with_pairs,
    "texts": _without_texts,
    "not nominal": _all_names,
    "many columns": _few_numbers,
    "many rows": _few_rows,
    "many texts": _few_texts,
    "many texts or rows": _few_branches,
}
NAMES = tuple(RECIPES)


def _made(recipe: Recipe, kinds: Kinds) -> Any:
    learner = class_of(KINDS[recipe.kind])(**recipe.settings)
    if recipe.kind == "Discriminant" and kinds.names:
        learner.set_params(nominal="onehot")
    return learner


@dataclass(frozen=True, eq=False)
class Suited:
    """The learners to be compared.

    Parameters
    ----------
    learners : dict of str to estimator
    left_out : dict of str to str
        Those that do not suit the table, and why.
    notes : dict of str to str
        What was put before a learner so that it can take the table.
    """

    learners: dict[str, Any]
    left_out: dict[str, str]
    notes: dict[str, str]


def suited(kinds: Kinds, given: Any = None, only: Any = None, without: Any = None) -> Suited:
    """Choose the learners that suit a table.

    Parameters
    ----------
    kinds : Kinds
    given : estimator, list of them, or mapping of name to estimator, optional
        Those of the user, beside those of the package.
    only, without : str or sequence of str, optional
        The learners of the package to take, or learners to leave out, by name; of letters and digits alone, in any
        case.
    """
    theirs = {} if given is None or (isinstance(given, Mapping | Sequence) and not given) else named(given)
    for name in theirs:
        if _word(name) in {_word(own) for own in (*NAMES, "majority class")}:
            raise OptionError(f"The name {name!r} is taken.", hint="give the learner another name.")
    every = [*NAMES, *theirs]
    wanted, unwanted = _chosen(only, every), _chosen(without, every) or []
    found = Suited({}, {}, {})
    for name in every:
        if name in unwanted or (wanted is not None and name not in wanted and name not in theirs):
            continue
        if name in theirs:
            _take_theirs(name, theirs[name], kinds, found)
            continue
        recipe = RECIPES[name]
        why = _REASONS[recipe.cannot](kinds) or (_REASONS[recipe.slow](kinds) if wanted is None else None)
        if why is None:
            learner = _made(recipe, kinds)
            found.learners[name] = learner if kinds.types is None else learner.set_params(types=kinds.types)
        else:
            found.left_out[name] = why
    return found


def _word(name: str) -> str:
    return "".join(letter for letter in name.casefold() if letter.isalnum())


def _chosen(given: Any, every: Sequence[str]) -> list[str] | None:
    if given is None:
        return None
    by_word = {_word(name): name for name in every}
    found = []
    for name in [given] if isinstance(given, str) else given:
        if _word(str(name)) not in by_word:
            raise OptionError(
                f"There is no learner {name!r}.", hint=did_you_mean(name, every) or f"there are {listed(every, 20)}."
            )
        found.append(by_word[_word(str(name))])
    return found


# -- learners of the user ------------------------------------------------------------------


def _take_theirs(name: str, learner: Any, kinds: Kinds, found: Suited) -> None:
    """An estimator that takes no names or gaps is put behind what makes numbers of them."""
    from sklearn.pipeline import Pipeline
    from sklearn.utils import get_tags

    tags = None if _takes_tables(learner) else get_tags(learner).input_tags
    if tags is None:
        found.learners[name] = learner
        return
    if kinds.texts and not is_sparse(kinds.ground.rows.X):
        found.left_out[name] = f"texts are no numbers: {listed(kinds.texts, 3)} (put it in a pipeline)"
        return
    many = _few_numbers(kinds) if kinds.names else None
    if many is not None:
        found.left_out[name] = many
        return
    steps, told = _steps(kinds, takes_gaps=tags.allow_nan)
    found.learners[name] = Pipeline([*steps, ("learner", learner)]) if steps else learner
    if told:
        found.notes[name] = f"behind {' and '.join(told)}"


def _takes_tables(learner: Any) -> bool:
    """Whether a learner, or what it searches over, wraps or calibrates, takes a table as it is."""
    from sklearn.pipeline import Pipeline

    if isinstance(learner, TallyModel | Pipeline) or type(learner).__module__.partition(".")[0] == "countwise":
        return True
    inner = getattr(learner, "estimator", None)
    return inner is not None and _takes_tables(inner)


def _steps(kinds: Kinds, *, takes_gaps: bool) -> tuple[list[tuple[str, Any]], list[str]]:
    from sklearn.impute import SimpleImputer

    from countwise.preprocessing.encoder import CategoricalEncoder

    steps: list[tuple[str, Any]] = []
    told = []
    if kinds.names:
        steps.append(("encoder", CategoricalEncoder(types=kinds.types)))
        told.append("CategoricalEncoder (names as numbers)")
    if steps or library_of(kinds.ground.rows.X) == "mapping":
        steps.append(("matrix", Matrix()))
    if kinds.gaps and not takes_gaps:
        steps.append(("imputer", SimpleImputer(keep_empty_features=True)))
        told.append("SimpleImputer (gaps as means)")
    return steps, told
