"""Which learners suit a table, and why others do not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    """What the columns of a table are; `types` is what the user declares."""

    ground: EvaluationData
    types: Any = None

    @lazy
    def schema(self) -> Schema:
        """With the values of columns of names."""
        frame = self.ground.rows.frame
        return Schema.kinds(frame, self.types).learn(frame)

    def _of(self, *kinds: type) -> list[Any]:
        return [a for a in self.schema.attributes if isinstance(a, kinds)]

    @property
    def texts(self) -> list[str]:
        """Columns of texts, and blocks of counts."""
        return [a.name for a in self._of(Text, Block)]

    @property
    def names(self) -> list[Any]:
        """Nominal and ordinal columns."""
        return self._of(Nominal)

    @property
    def numbers(self) -> list[str]:
        """Columns of numbers and counts."""
        return [a.name for a in self._of(Numeric)]

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

NAMES = tuple(RECIPES)


def _against(reason: str, kinds: Kinds) -> str | None:
    """Why a learner does not suit a table, by the name that its recipe gives the reason; None if it does."""
    n, odd = len(kinds.ground), kinds.numbers or kinds.texts
    match reason:
        case "no numbers" if not kinds.numbers:
            return "there are no columns of numbers: it would be naive Bayes again"
        case "no pairs" if len(kinds.numbers) + len(kinds.names) < 2:
            return "there are no two attributes beside texts that could depend on each other"
        case "texts" if kinds.texts:
            return f"it takes no texts: {listed(kinds.texts, 3)}"
        case "not nominal" if odd:
            return f"the same numbers or texts hardly come twice: {listed(odd, 3)}"
        case "many columns" if kinds.n_numbers > MOST_NUMBERS:
            return f"names would become {kinds.n_numbers:,} numbers; the limit is {MOST_NUMBERS:,}"
        case "many texts" | "many texts or rows" if kinds.texts and n > MOST_TEXT_ROWS:
            return f"it may ask for every word: {n:,} rows of texts are over the limit of {MOST_TEXT_ROWS:,}"
        case "many rows" | "many texts or rows" if n > MOST_ROWS:
            return f"it compares all rows: {n:,} are over the limit of {MOST_ROWS:,}"
    return None


@dataclass(frozen=True, eq=False)
class Suited:
    """The learners to be compared."""

    learners: dict[str, Any]
    left_out: dict[str, str]  # those that do not suit the table, and why
    notes: dict[str, str]  # what was put before a learner so that it can take the table


def suited(kinds: Kinds, given: Any = None, only: Any = None, without: Any = None) -> Suited:
    """Choose the learners that suit a table: those of the package, and those given by the user.

    `only` and `without` name some by letters and digits alone, in any case.
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
        why = _against(recipe.cannot, kinds) or (_against(recipe.slow, kinds) if wanted is None else None)
        if why is not None:
            found.left_out[name] = why
            continue
        learner = found.learners[name] = class_of(KINDS[recipe.kind])(**recipe.settings)
        if recipe.kind == "Discriminant" and kinds.names:
            learner.set_params(nominal="onehot")
        if kinds.types is not None:
            learner.set_params(types=kinds.types)
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
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import Pipeline
    from sklearn.utils import get_tags

    from countwise.preprocessing.encoder import CategoricalEncoder

    if _takes_tables(learner):
        found.learners[name] = learner
        return
    takes_missing = get_tags(learner).input_tags.allow_nan
    if kinds.texts and not is_sparse(kinds.ground.rows.X):
        found.left_out[name] = f"texts are no numbers: {listed(kinds.texts, 3)} (put it in a pipeline)"
        return
    many = _against("many columns", kinds) if kinds.names else None
    if many is not None:
        found.left_out[name] = many
        return
    steps: list[tuple[str, Any]] = []
    told = []
    if kinds.names:
        steps.append(("encoder", CategoricalEncoder(types=kinds.types)))
        told.append("CategoricalEncoder (names as numbers)")
    if steps or library_of(kinds.ground.rows.X) == "mapping":
        steps.append(("matrix", Matrix()))
    if kinds.gaps and not takes_missing:
        steps.append(("imputer", SimpleImputer(keep_empty_features=True)))
        told.append("SimpleImputer (gaps as means)")
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
