"""Learning curves: training and test scores for increasing numbers of training rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from countwise import progress
from countwise._typing import Floats, Indices
from countwise.errors import NumberIn, OptionError, TableError, TooFewRows, check_flag, check_value, warn
from countwise.evaluation.cross_validation import groups_of, one_score, splits_for
from countwise.evaluation.dataset import EvaluationData, evaluation_data
from countwise.evaluation.fold_models import adds_up, predict_rows, prefixes
from countwise.evaluation.parallel import over_processes, processes_of
from countwise.feature_selection.subset_scoring import scored
from countwise.working import Grid

__all__ = ["LearningCurve", "learning_curve", "named"]

_MOST_REPEATS = 10_000


@dataclass(frozen=True, eq=False)
class LearningCurve:
    """Training and test scores of one or more learners for increasing numbers of training rows.

    It unpacks like the result of scikit-learn's `learning_curve`: `train_sizes, train_scores, test_scores`, with the
    scores of the first learner.

    Parameters
    ----------
    scoring : str
        Name of the score.
    train_sizes : ndarray of int
        Numbers of training rows.
    train : dict of str to ndarray of shape (n_sizes, n_repeats)
        Scores of each learner on the training rows; NaN where it failed.
    test : dict of str to ndarray of shape (n_sizes, n_repeats)
        Scores of each learner on the held-out rows; NaN where it failed.
    fit_seconds : dict of str to ndarray of shape (n_sizes, n_repeats), default={}
        Fitting times.
    errors : dict of str to str, default={}
        The first error of each learner that failed.

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
        """Training scores of the first learner, of shape (n_sizes, n_repeats)."""
        return next(iter(self.train.values()))

    @property
    def test_scores(self) -> Floats:
        """Test scores of the first learner, of shape (n_sizes, n_repeats)."""
        return next(iter(self.test.values()))

    def __iter__(self) -> Iterator[Any]:
        return iter((self.train_sizes, self.train_scores, self.test_scores))

    @property
    def is_error(self) -> bool:
        """Whether the score is an accuracy, so that 1 - score is an error rate."""
        return self.scoring in ("accuracy", "balanced_accuracy")

    @property
    def frame(self) -> Grid:
        """One row for each learner, size and repeat."""
        rows = [
            (name, size, r + 1, train[i, r], self.test[name][i, r], self.fit_seconds[name][i, r])
            for name, train in self.train.items()
            for i, size in enumerate(self.train_sizes.tolist())
            for r in range(train.shape[1])
        ]
        return _grid(("learner", "rows", "repeat", "train", "test", "seconds"), rows)

    @property
    def summary(self) -> Grid:
        """One row for each learner and size: means and standard deviations over the repeats.

        For accuracy and balanced accuracy the error rates 1 - score are reported.
        """
        score = "error" if self.is_error else self.scoring
        names = ["learner", "rows", f"train_{score}", "train_sd", f"test_{score}", "test_sd"]
        rows = [
            (name, size, *self._over_repeats(self.train[name][i]), *self._over_repeats(self.test[name][i]))
            for name in self.train
            for i, size in enumerate(self.train_sizes.tolist())
        ]
        return _grid(names, rows)

    def _over_repeats(self, scores: Floats) -> tuple[float, float]:
        kept = scores[~np.isnan(scores)]
        kept = 1 - kept if self.is_error else kept
        finite = len(kept) > 1 and np.isfinite(kept).all()
        mean = float(kept.mean()) if len(kept) else float("nan")
        return mean, float(kept.std(ddof=1)) if finite else float("nan")

    def plot(self, ax: Any = None) -> Any:
        """Draw the learning curve.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on. By default new ones.

        Returns
        -------
        LearningCurveDisplay
            The display, with the axes in `ax_`.

        Examples
        --------
        >>> from countwise import NaiveBayesClassifier, learning_curve, samples
        >>> birds = samples.load("penguins")
        >>> curve = learning_curve(NaiveBayesClassifier(), birds.X, birds.y, train_sizes=[20, 200], repeats=2)
        >>> curve.plot().ax_.get_xlabel()
        'training rows'
        """
        from countwise.plots import LearningCurveDisplay

        return LearningCurveDisplay.from_curve(self, ax=ax)

    def __str__(self) -> str:
        lines = [str(self.summary)]
        lines += [f"{name} failed with {error}" for name, error in self.errors.items()]
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
    """Compute training and test scores for increasing numbers of training rows.

    In each repeat, some rows are held out and the learner is fitted on the first n of the remaining rows, for each n
    in `train_sizes`. Models that are fitted by counting tally each row once: the tallies of a larger size extend
    those of the smaller one.

    Parameters
    ----------
    estimator : estimator, list of estimators, or mapping of name to estimator
        Classifiers of this package, or scikit-learn compatible ones.
    X : any table
        Nominal, numeric and text columns; missing values are allowed.
    y : array-like or str
        The class of each row, or the name of its column in X.
    train_sizes : sequence of float or int, default=(0.1, 0.325, 0.55, 0.775, 1.0)
        Numbers of training rows (int), or fractions of the available training rows (float).
    cv : int, splitter or iterable of splits, optional
        Folds that are held out in turn; see `cross_validate`. By default rows are held out at random.
    repeats : int, optional
        Number of random hold-outs, by default 10; with `cv` the number of times that the rows are assigned to folds,
        by default 1.
    test_size : float, default=0.25
        Fraction of rows to hold out at random. Ignored if `cv` is given.
    scoring : str or callable, default='accuracy'
        Name of a score, or a scorer; see `cross_validate`.
    stratified : bool, default=True
        Whether each training set has the class proportions of the table. False draws the rows at random.
    groups : str or array-like, optional
        Column, or label of each row. Rows of one group are held out together.
    sample_weight : array-like, optional
        Weight of each row, used for fitting and for scoring.
    random_state : int, default=0
        Seed for holding out and ordering rows.
    n_jobs : int or None, default=None
        Number of processes; see `cross_validate`. Models that merge tallies always use the current process.
    fast : bool, default=True
        Whether to extend tallies where the estimator allows it. False refits for every size.

    Returns
    -------
    LearningCurve
        Result with `summary`, `frame` and `plot()`; it unpacks to sizes, training scores and test scores.

    See Also
    --------
    validation_curve : Scores as a function of a parameter.

    Examples
    --------
    >>> from countwise import NaiveBayesClassifier, learning_curve, samples
    >>> credit = samples.load("credit")
    >>> curve = learning_curve(NaiveBayesClassifier(), credit.X, credit.y, train_sizes=[50, 500, 3000], repeats=5)
    >>> sizes, train, test = curve
    >>> sizes.tolist(), test.shape, bool((train.mean(axis=1)[0] > test.mean(axis=1)[0]))
    ([50, 500, 3000], (3, 5), True)
    """
    fast, stratified = check_flag("fast", fast), check_flag("stratified", stratified)
    data = evaluation_data(X, y, sample_weight, groups=groups)
    learners = named(estimator)
    score, others = one_score(scoring)
    splits = _splits(data, cv, repeats, test_size, groups_of(groups, data, X), random_state)
    sizes = sizes_of(train_sizes, min(len(train) for train, _ in splits))
    rng = np.random.default_rng(random_state)
    # held-out rows come first: they and any training prefix are contiguous, and are predicted in one call
    turns = [(held, _order(data, rows, rng, stratified)) for rows, held in splits]
    shared = _Turns(data, learners, turns, sizes, score, others, fast)
    shape, processes = (len(sizes), len(splits)), processes_of(n_jobs)
    if fast and all(adds_up(learner, data) for learner in learners.values()):
        processes = 1  # the tallies of one size are extended to the next, which is faster than more processes
    train, test, seconds = ({name: np.full(shape, np.nan) for name in learners} for _ in range(3))
    errors: dict[str, str] = {}
    # in one process the rows of a repeat are gathered once for all learners
    who = [[name] for name in learners] if processes > 1 else [list(learners)]
    tasks = [((r, names), len(names) * len(sizes)) for r in range(len(turns)) for names in who]
    for (r, _), found in over_processes(_turn, shared, tasks, processes, progress.counter()):
        for name, (numbers, error) in found.items():
            seconds[name][:, r], test[name][:, r], train[name][:, r] = numbers.T
            if error is not None:
                errors.setdefault(name, error)
    if len(errors) == len(learners) and all(np.isnan(scores).all() for scores in test.values()):
        raise TableError("; ".join(f"{name} failed with {error}" for name, error in errors.items()))
    for name, error in errors.items():
        warn(f"{name} failed with {error}")
    return LearningCurve(score, np.array(sizes), train, test, seconds, errors)


@dataclass(frozen=True, eq=False)
class _Turns:
    """The data, repeats and sizes that are the same for all learners; pickled for worker processes."""

    data: EvaluationData
    learners: dict[str, Any]
    rows: list[tuple[Indices, Indices]]  # test rows, and training rows in the order in which they are added
    sizes: list[int]
    score: str
    others: Mapping[str, Any]
    fast: bool


def _turn(
    shared: _Turns, task: tuple[int, list[str]], advance: Callable[[], None]
) -> dict[str, tuple[Floats, str | None]]:
    r, names = task
    held, order = shared.rows[r]
    together = shared.data.subset(np.concatenate([held, order]))
    return {name: _points(shared, shared.learners[name], together, len(held), advance) for name in names}


def _points(
    shared: _Turns, learner: Any, together: EvaluationData, held: int, advance: Callable[[], None]
) -> tuple[Floats, str | None]:
    """Return the fitting time, test score and training score for each size, and the first error."""
    learned, numbers, error = together.between(held, len(together)), [], None
    for size, model in zip(shared.sizes, prefixes(learner, learned, shared.sizes, fast=shared.fast), strict=True):
        scores, failure = [np.nan, np.nan], model.error
        if failure is None:
            try:
                with progress.quiet():
                    rows = together.between(0, held + size)
                    scores = _scores(model.model, rows, held, shared.score, shared.others)
            except Exception as reason:  # the other sizes are still computed
                failure = reason
        if failure is not None:
            error = error or f"{size} rows: {failure}"
        numbers.append([model.seconds, *scores])
        advance()
    return np.array(numbers), error


def named(estimator: Any) -> dict[str, Any]:
    """Return learners by name; several of one class are numbered."""
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
        raise OptionError("There are no learners; at least one is needed.")
    for name, learner in found.items():
        if not hasattr(learner, "fit") or isinstance(learner, type):
            raise OptionError(
                f"The learner {name!r} is not an estimator: {learner!r}.",
                hint="pass an instance, such as TreeClassifier().",
            )
    return found


def _splits(
    data: EvaluationData, cv: Any, repeats: int | None, test_size: float, groups: Any, seed: int
) -> list[tuple[Indices, Indices]]:
    turns = repeats if repeats is not None else (10 if cv is None else 1)
    check_value("repeats", turns, NumberIn(1, _MOST_REPEATS, whole=True))
    check_value("random_state", seed, NumberIn(0, whole=True))
    if cv is not None:
        return [split for turn in range(turns) for split in splits_for(cv, data, groups, seed + turn)]
    check_value("test_size", test_size, NumberIn(0, 1, strict=True))
    found = []
    for turn in range(turns):
        rng = np.random.default_rng([seed, turn])
        if groups is not None:
            found.append(_held_together(np.asarray(groups), test_size, rng))
            continue
        order = _order(data, np.arange(len(data)), rng, True)
        # every part of a stratified order has the class proportions of the table, so have the last rows
        held = max(1, min(len(data) - 1, round(test_size * len(data))))
        found.append((np.sort(order[:-held]), np.sort(order[-held:])))
    return found


def _held_together(groups: Indices, test_size: float, rng: np.random.Generator) -> tuple[Indices, Indices]:
    """Hold out random groups until the fraction of rows to hold out is reached."""
    sizes = np.bincount(groups)
    if len(sizes) < 2:
        raise TooFewRows("All rows belong to one group; at least two groups are needed to hold one out.")
    order = rng.permutation(len(sizes))
    enough = int(np.searchsorted(np.cumsum(sizes[order]), test_size * len(groups))) + 1
    held = np.isin(groups, order[: min(enough, len(sizes) - 1)])
    return np.flatnonzero(~held), np.flatnonzero(held)


def sizes_of(train_sizes: Any, most: int) -> list[int]:
    """Return the distinct training sizes in ascending order, from fractions or numbers of rows."""
    if not isinstance(train_sizes, Iterable):
        train_sizes = [train_sizes]
    try:
        given = np.asarray(list(train_sizes))
    except ValueError:
        given = np.empty(0)
    if not len(given) or given.ndim > 1 or given.dtype.kind not in "iuf" or np.isnan(given.astype(np.float64)).any():
        raise OptionError(f"train_sizes must be numbers or fractions of rows, not {train_sizes!r}.")
    if given.dtype.kind == "f":
        if (given <= 0).any() or (given > 1).any():
            raise OptionError(
                f"train_sizes must be fractions in (0, 1], but they go from {given.min():g} to {given.max():g}."
            )
        given = np.maximum((given * most).astype(np.int64), 1)
    if given.min() < 1 or given.max() > most:
        raise TooFewRows(
            f"train_sizes must be from 1 to {most}, the number of training rows; they go from {given.min()} to "
            f"{given.max()}.",
            hint="use fractions, or numbers of rows in this range.",
        )
    return sorted({int(size) for size in given})


def _order(data: EvaluationData, rows: Indices, rng: np.random.Generator, stratified: bool) -> Indices:
    """Return the rows in random order; if stratified, each prefix has the class proportions of all rows."""
    mixed = rng.permutation(rows)
    if not stratified:
        return mixed
    codes = data.codes[mixed]
    place = np.empty(len(mixed))
    for c in np.unique(codes):
        mine = np.flatnonzero(codes == c)
        place[mine] = (np.arange(len(mine)) + 0.5) / len(mine)
    return mixed[np.argsort(place, kind="stable")]


def _scores(model: Any, rows: EvaluationData, held: int, score: str, others: Mapping[str, Any]) -> list[float]:
    """Return the scores on the first rows, which are held out, and on the training rows after them."""
    if score in others:
        subsets = rows.between(0, held), rows.between(held, len(rows))
        return [scored(others[score], model, subset.table, subset.y, subset.weights) for subset in subsets]
    predictions = predict_rows(model, rows, proba=score not in ("accuracy", "balanced_accuracy"))
    return [predictions.take(part).score(score) for part in (slice(0, held), slice(held, len(rows)))]
