"""Learning curves: how good learners are on the rows they learned from and on others, as the rows grow."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from countwise import progress
from countwise._typing import Floats, Indices
from countwise.errors import NumberIn, OptionError, TableError, TooFewRows, check_value, warn
from countwise.evaluation.cross_validation import groups_of, one_score, splits_for
from countwise.evaluation.dataset import EvaluationData, ground_of
from countwise.evaluation.fold_models import adds_up, answers_of, prefixes
from countwise.evaluation.parallel import over_processes, processes_of
from countwise.feature_selection.subset_scoring import scored
from countwise.working import Grid

__all__ = ["LearningCurve", "learning_curve", "named"]


@dataclass(frozen=True, eq=False)
class LearningCurve:
    """Scores on rows learned from and on rows held out, by how many were learned from.

    It unpacks as the result of scikit-learn's function does: sizes, scores on the rows learned from, scores on those
    held out (of the first learner, shape (sizes, repeats)).

    Parameters
    ----------
    scoring : str
        The score.
    train_sizes : ndarray of int
        How many rows were learned from.
    train, test : dict of str to ndarray, shape (sizes, repeats)
        The scores of each learner; NaN where it failed.
    fit_seconds : dict of str to ndarray
        What fitting took.
    errors : dict of str to str
        The first failure of each learner that failed.

    Examples
    --------
    >>> from countwise import NaiveBayesClassifier, learning_curve, samples
    >>> birds = samples.load("penguins")
    >>> curve = learning_curve(NaiveBayesClassifier(), birds.X, birds.y, train_sizes=[20, 200], repeats=4)
    >>> curve.summary["rows"], curve.test_scores.shape
    ([20, 200], (2, 4))
    """

    scoring: str
    train_sizes: Indices
    train: dict[str, Floats]
    test: dict[str, Floats]
    fit_seconds: dict[str, Floats] = field(repr=False, default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)

    @property
    def train_scores(self) -> Floats:
        """Of the first learner, shape (sizes, repeats)."""
        return next(iter(self.train.values()))

    @property
    def test_scores(self) -> Floats:
        """Of the first learner, shape (sizes, repeats)."""
        return next(iter(self.test.values()))

    def __iter__(self) -> Iterator[Any]:
        return iter((self.train_sizes, self.train_scores, self.test_scores))

    @property
    def is_error(self) -> bool:
        """Whether the score is a share of right answers, so that 1 less it is an error."""
        return self.scoring in ("accuracy", "balanced_accuracy")

    @property
    def frame(self) -> Grid:
        """A row for each learner, size and repeat."""
        rows = [
            (name, size, r + 1, train[i, r], self.test[name][i, r], self.fit_seconds[name][i, r])
            for name, train in self.train.items()
            for i, size in enumerate(self.train_sizes.tolist())
            for r in range(train.shape[1])
        ]
        return _grid(("learner", "rows", "repeat", "train", "test", "seconds"), rows)

    @property
    def summary(self) -> Grid:
        """A row for each learner and size: means over the repeats, and their deviation."""
        words = [f"train_{self.scoring}", f"test_{self.scoring}"]
        if self.is_error:
            words = ["apparent_error", "true_error"]
        rows = [
            (name, size, *self._over_repeats(self.train[name][i]), *self._over_repeats(self.test[name][i]))
            for name in self.train
            for i, size in enumerate(self.train_sizes.tolist())
        ]
        return _grid(("learner", "rows", words[0], "deviation", words[1], "its_deviation"), rows)

    def _over_repeats(self, scores: Floats) -> tuple[float, float]:
        kept = scores[~np.isnan(scores)]
        kept = 1 - kept if self.is_error else kept
        finite = len(kept) > 1 and np.isfinite(kept).all()
        mean = float(kept.mean()) if len(kept) else float("nan")
        return mean, float(kept.std(ddof=1)) if finite else float("nan")

    def plot(self, ax: Any = None) -> Any:
        """Draw it, on the given axes or on new ones: a `LearningCurveDisplay`."""
        from countwise.plots import LearningCurveDisplay

        return LearningCurveDisplay.from_curve(self, ax=ax)

    def __str__(self) -> str:
        lines = [str(self.summary)]
        lines += [f"{name} failed at {error}" for name, error in self.errors.items()]
        return "\n".join(lines)

    __repr__ = __str__


def _grid(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> Grid:
    return Grid({name: [row[j] for row in rows] for j, name in enumerate(names)})


def learning_curve(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    train_sizes: Any = (0.1, 0.325, 0.55, 0.775, 1.0),
    cv: Any = None,
    repeats: int | None = None,
    test_size: float = 0.25,
    scoring: Any = "accuracy",
    stratified: bool = True,
    groups: Any = None,
    sample_weight: Any = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    fast: bool = True,
) -> LearningCurve:
    """How good learners are as the rows that they learn from grow.

    Models that learn by counting count each row once: a longer prefix is the shorter one and what is added to it.

    Parameters
    ----------
    estimator : estimator, list of them, or mapping of name to estimator
        Of this package, or of scikit-learn's kind.
    X : any table
    y : array-like or str
        The class of each row, or the name of its column.
    train_sizes : sequence of float or int
        Shares of the rows that can be learned from, or how many.
    cv : int, splitter or splits, optional
        Folds that are held out in turn; by default rows are held out at random.
    repeats : int, optional
        How often rows are held out at random (10), or dealt into folds (once).
    test_size : float, default=0.25
        The share of rows held out at random.
    scoring : str or callable, default="accuracy"
        See `cross_validate`.
    stratified : bool, default=True
        Whether every prefix has its share of each class.
    groups, sample_weight, random_state, n_jobs, fast
        See `cross_validate`.

    Returns
    -------
    LearningCurve
        `summary` and `frame`; it unpacks to sizes, train scores and test scores.

    Examples
    --------
    >>> from countwise import NaiveBayesClassifier, learning_curve, samples
    >>> credit = samples.load("credit")
    >>> curve = learning_curve(NaiveBayesClassifier(), credit.X, credit.y, train_sizes=[50, 500, 3000], repeats=5)
    >>> sizes, train, test = curve
    >>> sizes.tolist(), test.shape, bool((train.mean(axis=1)[0] > test.mean(axis=1)[0]))
    ([50, 500, 3000], (3, 5), True)
    """
    ground = ground_of(X, y, sample_weight)
    learners = named(estimator)
    score, others = one_score(scoring)
    splits = _splits(ground, cv, repeats, test_size, groups_of(groups, ground, X), random_state)
    sizes = sizes_of(train_sizes, min(len(train) for train, _ in splits))
    rng = np.random.default_rng(random_state)
    # the rows held out come first, so that they and any prefix lie together: both are answered in one go
    turns = [(held, _order(ground, rows, rng, stratified)) for rows, held in splits]
    shared = _Turns(ground, learners, turns, sizes, score, others, fast)
    shape, processes = (len(sizes), len(splits)), processes_of(n_jobs)
    if fast and all(adds_up(learner, ground) for learner in learners.values()):
        processes = 1  # what is counted of a prefix serves the next: no other process is as fast
    train, test, seconds = ({name: np.full(shape, np.nan) for name in learners} for _ in range(3))
    errors: dict[str, str] = {}
    # in one process the rows of a turn are taken once for all learners
    who = [[name] for name in learners] if processes > 1 else [list(learners)]
    tasks = [((r, names), len(names) * len(sizes)) for r in range(len(turns)) for names in who]
    for (r, _), found in over_processes(_turn, shared, tasks, processes, progress.counter()):
        for name, (numbers, error) in found.items():
            seconds[name][:, r], test[name][:, r], train[name][:, r] = numbers.T
            if error is not None:
                errors.setdefault(name, error)
    if len(errors) == len(learners) and all(np.isnan(scores).all() for scores in test.values()):
        raise TableError("; ".join(f"{name} failed at {error}" for name, error in errors.items()))
    for name, error in errors.items():
        warn(f"{name} failed at {error}")
    return LearningCurve(score, np.array(sizes), train, test, seconds, errors)


@dataclass(frozen=True, eq=False)
class _Turns:
    """What every learner is put to; it travels to other processes."""

    ground: EvaluationData
    learners: dict[str, Any]
    rows: list[tuple[Indices, Indices]]  # held out, and learned from in this order
    sizes: list[int]
    score: str
    others: Mapping[str, Any]
    fast: bool


def _turn(
    shared: _Turns, task: tuple[int, list[str]], tell: Callable[[], None]
) -> dict[str, tuple[Floats, str | None]]:
    r, names = task
    held, order = shared.rows[r]
    together = shared.ground.piece(np.concatenate([held, order]))
    return {name: _points(shared, shared.learners[name], together, len(held), tell) for name in names}


def _points(
    shared: _Turns, learner: Any, together: EvaluationData, held: int, tell: Callable[[], None]
) -> tuple[Floats, str | None]:
    """Seconds, score on rows held out and on rows learned from, for each size; and the first failure."""
    learned, numbers, error = together.between(held, len(together)), [], None
    for size, model in zip(shared.sizes, prefixes(learner, learned, shared.sizes, fast=shared.fast), strict=True):
        scores, failure = [np.nan, np.nan], model.error
        if failure is None:
            try:
                with progress.quiet():
                    asked = together.between(0, held + size)
                    scores = _scores(model.model, asked, held, shared.score, shared.others)
            except Exception as reason:  # the other points go on
                failure = reason
        if failure is not None:
            error = error or f"{size} rows: {failure}"
        numbers.append([model.seconds, *scores])
        tell()
    return np.array(numbers), error


def named(estimator: Any) -> dict[str, Any]:
    """Learners by name; those of one kind are numbered."""
    if isinstance(estimator, Mapping):
        found = {str(name): learner for name, learner in estimator.items()}
    else:
        several = list(estimator) if isinstance(estimator, Sequence) else [estimator]
        kinds = [type(learner).__name__ for learner in several]
        found = {
            kind if kinds.count(kind) == 1 else f"{kind} {kinds[: i + 1].count(kind)}": learner
            for i, (kind, learner) in enumerate(zip(kinds, several, strict=True))
        }
    if not found:
        raise OptionError("There is no learner.")
    for name, learner in found.items():
        if not hasattr(learner, "fit") or isinstance(learner, type):
            raise OptionError(
                f"{name} is no learner: {learner!r}.", hint="give an instance, such as TreeClassifier()."
            )
    return found


def _splits(
    ground: EvaluationData, cv: Any, repeats: int | None, test_size: float, groups: Any, seed: int
) -> list[tuple[Indices, Indices]]:
    turns = repeats if repeats is not None else (10 if cv is None else 1)
    check_value("repeats", turns, NumberIn(1, whole=True))
    if cv is not None:
        return [split for turn in range(turns) for split in splits_for(cv, ground, groups, seed + turn)]
    if not 0 < test_size < 1:
        raise OptionError(f"test_size must be between 0 and 1, not {test_size!r}.")
    found = []
    for turn in range(turns):
        rng = np.random.default_rng([seed, turn])
        if groups is not None:
            found.append(_held_together(np.asarray(groups), test_size, rng))
            continue
        order = _order(ground, np.arange(len(ground)), rng, True)
        # the last of an order that has every class in its share: so have the rows held out
        held = max(1, min(len(ground) - 1, round(test_size * len(ground))))
        found.append((np.sort(order[:-held]), np.sort(order[-held:])))
    return found


def _held_together(groups: Indices, test_size: float, rng: np.random.Generator) -> tuple[Indices, Indices]:
    """Whole groups, by chance, until the share of rows to hold out is reached."""
    sizes = np.bincount(groups)
    if len(sizes) < 2:
        raise TooFewRows("All rows are of one group: none can be held out.")
    order = rng.permutation(len(sizes))
    enough = int(np.searchsorted(np.cumsum(sizes[order]), test_size * len(groups))) + 1
    held = np.isin(groups, order[: min(enough, len(sizes) - 1)])
    return np.flatnonzero(~held), np.flatnonzero(held)


def sizes_of(train_sizes: Any, most: int) -> list[int]:
    """How many rows, of shares or numbers; ascending, each once."""
    given = np.asarray(list(train_sizes) if not np.isscalar(train_sizes) else [train_sizes])
    if not len(given) or given.dtype.kind not in "iuf":
        raise OptionError(f"train_sizes must be numbers of rows or shares of them, not {train_sizes!r}.")
    if given.dtype.kind == "f":
        if (given <= 0).any() or (given > 1).any():
            raise OptionError(f"Shares of rows lie above 0 and up to 1, not {given.min():g} to {given.max():g}.")
        given = np.maximum((given * most).astype(np.int64), 1)
    if given.min() < 1 or given.max() > most:
        raise TooFewRows(
            f"train_sizes go from {given.min()} to {given.max()}; {most} rows can be learned from.",
            hint="give shares, or fewer rows.",
        )
    return sorted({int(size) for size in given})


def _order(ground: EvaluationData, rows: Indices, rng: np.random.Generator, stratified: bool) -> Indices:
    """The rows by chance; stratified: so that every prefix has its share of each class."""
    mixed = rng.permutation(rows)
    if not stratified:
        return mixed
    codes = ground.codes[mixed]
    place = np.empty(len(mixed))
    for c in np.unique(codes):
        mine = np.flatnonzero(codes == c)
        place[mine] = (np.arange(len(mine)) + 0.5) / len(mine)
    return mixed[np.argsort(place, kind="stable")]


def _scores(model: Any, rows: EvaluationData, held: int, score: str, others: Mapping[str, Any]) -> list[float]:
    """The score on the first rows, which were held out, and on the others."""
    if score in others:
        pieces = rows.between(0, held), rows.between(held, len(rows))
        return [scored(others[score], model, piece.table, piece.y, piece.weights) for piece in pieces]
    answers = answers_of(model, rows, proba=score not in ("accuracy", "balanced_accuracy"))
    return [answers.take(part).score(score) for part in (slice(0, held), slice(held, len(rows)))]
