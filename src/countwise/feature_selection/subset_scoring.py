"""Attribute subsets: searches, and cross-validated scores by refitting or by adding cached naive Bayes terms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels, progress
from countwise._typing import Floats
from countwise.base.protocol import Classifier
from countwise.data.frames import is_sparse
from countwise.data.output import chosen, rows_of
from countwise.data.schema import Schema
from countwise.errors import (
    CountwiseError,
    NumberIn,
    OptionError,
    TableError,
    did_you_mean,
    own_warnings,
)
from countwise.naive_bayes.model import NaiveBayesClassifier
from countwise.sources.labelled_table import LabelledTable

__all__ = [
    "CachedTerms",
    "Folds",
    "FoundSubset",
    "Refits",
    "Stage",
    "SubsetScorer",
    "exhaustive",
    "greedy",
    "scorer_for",
]

Subset = tuple[int, ...]

_EQUAL = 1e-12  # scores that differ by less are a tie
_MOST_BYTES = 1 << 32  # memory limit of the cached terms; beyond it subsets are refitted


class SubsetScorer:
    """Base class that scores attribute subsets by their mean score over the folds; subclasses define `scores`."""

    how: ClassVar[str]
    d: int  # the number of attributes
    _n_scored = 0

    def scores(self, subsets: list[Subset]) -> list[float]:
        """Return the score of each subset."""
        raise NotImplementedError

    def adding(self, base: Subset, more: Sequence[int]) -> list[float]:
        """Return the scores of a subset with each of some attributes added."""
        return self.scores([tuple(sorted((*base, a))) for a in more])

    def dropping(self, base: Subset) -> list[float]:
        """Return the scores of a subset without each of its attributes in turn."""
        return self.scores([tuple(a for a in base if a != gone) for gone in base])

    def every(self, sizes: range) -> Iterator[tuple[Subset, float]]:
        """Yield all subsets of some sizes with their scores."""
        subsets = [subset for k in sizes for subset in combinations(range(self.d), k)]
        yield from zip(subsets, self.scores(subsets), strict=True)

    def _report(self, more: int) -> None:
        """Advance the progress bar by a number of subsets."""
        self._n_scored += more
        listener = progress.current()
        if listener is not None:
            listener(self._n_scored)


@dataclass(frozen=True, slots=True, eq=False)
class Folds:
    """A table with its target, the folds, and the scoring."""

    rows: LabelledTable
    splits: list[tuple[NDArray[Any], NDArray[Any]]]  # training rows and test rows
    scoring: Any  # a scikit-learn scoring parameter

    def weights(self, rows: NDArray[Any]) -> NDArray[Any] | None:
        """Return the weights of some rows."""
        return None if self.rows.weights is None else self.rows.weights[rows]

    def table(self, subset: Subset | None) -> Any:
        """Return the columns of a subset; a column of zeros for the empty subset."""
        if subset is None:
            return self.rows.X
        if not subset:
            return np.zeros((self.rows.frame.n_rows, 1))
        return chosen(self.rows.X, self.rows.frame, subset)


def scorer_for(estimator: Any, folds: Folds, n_jobs: int | None) -> CachedTerms | Refits:
    """Return a scorer with cached terms for naive Bayes with one term for each column, else one that refits.

    A custom scoring function may use the rows themselves, so it is called with a refitted model.
    """
    by_predictions = folds.scoring is None or isinstance(folds.scoring, str) or hasattr(folds.scoring, "_score_func")
    if isinstance(estimator, NaiveBayesClassifier) and not is_sparse(folds.rows.X) and by_predictions:
        with progress.quiet():
            models = [_fitted(estimator, folds, train, None) for train, _ in folds.splits]
        cells = sum(len(test) * len(m.classes_) for m, (_, test) in zip(models, folds.splits, strict=True))
        apart = all(len(part.columns) == 1 for model in models for part in model.terms_)
        if apart and 8 * cells * folds.rows.d <= _MOST_BYTES:
            return CachedTerms(estimator, folds, models)
    return Refits(estimator, folds, n_jobs)


def _fitted(estimator: Any, folds: Folds, rows: NDArray[Any], subset: Subset | None) -> Any:
    from sklearn.base import clone, is_classifier

    model = _narrowed(clone(estimator), folds, subset)
    if subset is not None and not subset:
        from sklearn.dummy import DummyClassifier, DummyRegressor

        model = DummyClassifier(strategy="prior") if is_classifier(estimator) else DummyRegressor()
    return model.fit(rows_of(folds.table(subset), rows), folds.rows.y[rows], **weighted(model, folds.weights(rows)))


def _narrowed(model: Any, folds: Folds, subset: Subset | None) -> Any:
    """Drop the settings of a naive Bayes model for columns that are not in the subset."""
    if subset is None or is_sparse(folds.rows.X):
        return model
    gone = set(folds.rows.frame.names) - {folds.rows.frame.names[a] for a in subset}
    for part in (model, *(step for _, step in getattr(model, "steps", ()))):
        for option in ("distributions", "missing", "types") if isinstance(part, NaiveBayesClassifier) else ():
            value = getattr(part, option)
            if isinstance(value, Mapping) and not isinstance(value, Schema):
                setattr(part, option, {k: v for k, v in value.items() if k not in gone})
    return model


def weighted(model: Any, weights: NDArray[Any] | None) -> dict[str, Any]:
    """Return the keyword arguments that pass the weights to `fit`, or to the last step of a pipeline."""
    if weights is None:
        return {}
    from sklearn.utils.validation import has_fit_parameter

    last, prefix = (model[-1], f"{model.steps[-1][0]}__") if hasattr(model, "steps") else (model, "")
    if hasattr(last, "refit") and hasattr(last, "estimator"):  # a parameter search, which passes them on
        return {f"{prefix}{name}": values for name, values in weighted(last.estimator, weights).items()}
    if not has_fit_parameter(last, "sample_weight"):
        raise OptionError(
            f"The fit method of {type(last).__name__} does not support sample_weight.", hint="drop sample_weight."
        )
    return {f"{prefix}sample_weight": weights}


def scored(scorer: Any, model: Any, X: Any, y: Any, weights: Any) -> float:
    """Return the score of a model; a plain function is called without weights."""
    knows = hasattr(scorer, "_score_func") or hasattr(scorer, "_estimator")
    if not knows:  # a function of the user
        return _number(scorer(model, X, y))
    try:
        with own_warnings():
            return _number(scorer(model, X, y, **({} if weights is None else {"sample_weight": weights})))
    except CountwiseError:
        raise
    except (TypeError, ValueError) as error:
        raise OptionError(
            f"The score {scorer!r} cannot be computed: {error}", hint="use a score that suits the target."
        ) from error


def _number(found: Any) -> float:
    """Return what a scorer returned, which must be a number."""
    if found not in NumberIn() and not (isinstance(found, Real) and found != found):
        raise OptionError(f"A scorer must return a number, not {found!r}.")
    return float(found)


def scorer_of(estimator: Any, scoring: Any) -> Any:
    """Return scikit-learn's scorer of a name or a function."""
    from sklearn.metrics import check_scoring, get_scorer_names

    known = isinstance(scoring, str) and scoring in get_scorer_names()
    if not (known or scoring is None or callable(scoring)):
        raise OptionError(
            f"scoring must be the name of a score or a scorer, not {scoring!r}.",
            hint=did_you_mean(scoring, get_scorer_names()) if isinstance(scoring, str) else None,
        )
    return check_scoring(estimator, scoring)


def _score(scorer: Any, model: Any, X: Any, y: Any, weights: Any) -> float:
    value = scored(scorer, model, X, y, weights)
    if not np.isfinite(value):
        raise TableError(
            f"The scoring function returned {value}; subsets can only be compared by finite scores.",
            hint="use another scoring.",
        )
    return value


@dataclass(eq=False)
class Refits(SubsetScorer):
    """Refit and score any estimator for every subset and fold, with several subsets in parallel."""

    how: ClassVar[str] = "refitting"
    estimator: Any
    folds: Folds
    n_jobs: int | None = None

    def __post_init__(self) -> None:
        self.d = self.folds.rows.d

    def scores(self, subsets: list[Subset]) -> list[float]:
        """Return the score of each subset by refitting."""
        if self.n_jobs in (None, 1):
            found = []
            for subset in subsets:
                found.append(_refit_score(self.estimator, self.folds, subset))
                self._report(1)
            return found
        from sklearn.utils.parallel import Parallel, delayed

        work = delayed(_refit_score)
        found = Parallel(n_jobs=self.n_jobs)(work(self.estimator, self.folds, subset) for subset in subsets)
        self._report(len(subsets))
        return list(found)


def _refit_score(estimator: Any, folds: Folds, subset: Subset) -> float:
    scorer = scorer_of(estimator, folds.scoring)
    X = folds.table(subset)
    values = []
    try:
        with progress.quiet():
            for train, test in folds.splits:
                model = _fitted(estimator, folds, train, subset)
                values.append(_score(scorer, model, rows_of(X, test), folds.rows.y[test], folds.weights(test)))
    except Exception as error:
        names = folds.rows.frame.names
        which = subset if is_sparse(folds.rows.X) else ", ".join(names[a] for a in subset)
        error.add_note(f"(while scoring the attributes {which})")
        raise
    return float(np.mean(values))


@dataclass(slots=True, eq=False)
class _Fold:
    """The cached values of a fold: the term of each attribute, and the true classes."""

    classes: NDArray[Any]
    prior: Floats  # shape (rows, classes)
    frequencies: Floats  # log class frequencies: the prediction of the empty subset, as for any other estimator
    terms: list[Floats]  # one array of shape (rows, classes) for each attribute
    target: NDArray[Any]  # class codes
    y: NDArray[Any]
    weights: NDArray[Any] | None
    fallback: int

    def base(self, subset: Subset) -> Floats:
        """Return log P(class) plus the terms of a subset."""
        if not subset:
            return np.tile(self.frequencies, (len(self.prior), 1))
        total = self.prior.copy()
        for a in subset:
            total += self.terms[a]
        return total


class CachedTerms(SubsetScorer):
    """Score a naive Bayes model by terms that are computed once for each fold; a subset is a sum of terms."""

    how = "adding terms"

    def __init__(self, estimator: Any, folds: Folds, models: list[Any]) -> None:
        self.d = folds.rows.d
        names = folds.rows.frame.names
        self.folds = [_kept(model, folds, test, names) for model, (_, test) in zip(models, folds.splits, strict=True)]
        self.scorer = None  # for the accuracy, a kernel counts the correct predictions
        if folds.scoring is not None and not (isinstance(folds.scoring, str) and folds.scoring == "accuracy"):
            self.scorer = scorer_of(estimator, folds.scoring)

    def scores(self, subsets: list[Subset]) -> list[float]:
        """Return the score of each subset from the sum of its terms."""
        nothing = [[np.zeros_like(fold.prior)] for fold in self.folds]
        return [self._means([fold.base(subset) for fold in self.folds], nothing)[0] for subset in subsets]

    def adding(self, base: Subset, more: Sequence[int]) -> list[float]:
        """Return the score after adding each attribute, with one addition for each."""
        terms = [[fold.terms[a] for a in more] for fold in self.folds]
        return self._means([fold.base(base) if base else fold.prior for fold in self.folds], terms)

    def dropping(self, base: Subset) -> list[float]:
        """Return the score without each attribute from prefix and suffix sums, which avoids subtraction errors."""
        if len(base) == 1:
            return self.scores([()])
        before = [_running(fold, base, fold.prior) for fold in self.folds]
        after = [_running(fold, base[::-1], np.zeros_like(fold.prior))[::-1] for fold in self.folds]
        return [self._means([sums[i] for sums in before], [[sums[i]] for sums in after])[0] for i in range(len(base))]

    def every(self, sizes: range) -> Iterator[tuple[Subset, float]]:
        """Yield all subsets depth first, so that each costs one addition."""
        if 0 in sizes:
            yield (), self.scores([()])[0]
        yield from self._below((), [fold.prior for fold in self.folds], sizes)

    def _below(self, subset: Subset, bases: list[Floats], sizes: range) -> Iterator[tuple[Subset, float]]:
        if len(subset) >= sizes[-1]:
            return
        start = subset[-1] + 1 if subset else 0
        more = list(range(start, self.d))
        if len(subset) + 1 in sizes and more:
            values = self._means(bases, [[fold.terms[a] for a in more] for fold in self.folds])
            yield from (((*subset, a), value) for a, value in zip(more, values, strict=True))
        for a in more:
            deeper = [base + fold.terms[a] for base, fold in zip(bases, self.folds, strict=True)]
            yield from self._below((*subset, a), deeper, sizes)

    def _means(self, bases: list[Floats], terms: list[list[Floats]]) -> list[float]:
        if self.scorer is None:
            work = list(zip(self.folds, bases, terms, strict=True))
            threads = None if sum(base.size * len(t) for _, base, t in work) > 1 << 16 else 1
            values = _kernels.over_items(work, lambda item: _right(*item), threads)
        else:
            values = [self._scored(*item) for item in zip(self.folds, bases, terms, strict=True)]
        self._report(len(terms[0]))
        means: list[float] = np.mean(values, axis=0).tolist()
        return means

    def _scored(self, fold: _Fold, base: Floats, terms: list[Floats]) -> Floats:
        rows = np.zeros((len(base), 1))
        return np.array(
            [_score(self.scorer, Precomputed(fold, base + term), rows, fold.y, fold.weights) for term in terms]
        )


def _running(fold: _Fold, attributes: Subset, start: Floats) -> list[Floats]:
    """Return the sums of the terms before each attribute."""
    sums = [start]
    for a in attributes[:-1]:
        sums.append(sums[-1] + fold.terms[a])
    return sums


def _right(fold: _Fold, base: Floats, terms: list[Floats]) -> Floats:
    """Return the accuracy after adding each term."""
    weights = None if fold.weights is None else fold.weights.astype(np.float64)
    total = len(base) if weights is None else weights.sum()
    return np.asarray(_kernels.count_correct(base, terms, fold.target, weights, fold.fallback) / total)


def _kept(model: Any, folds: Folds, test: NDArray[Any], names: Sequence[str]) -> _Fold:
    X, y = rows_of(folds.rows.X, test), folds.rows.y[test]
    by_name = model.contributions(X)
    target = model.target_.encode(y)  # a class unseen in the fold has a code past the last
    prior = np.tile(model.log_prior_, (len(y), 1))
    fallback = int(np.argmax(model.log_prior_))
    with np.errstate(divide="ignore"):
        frequencies = np.log(model.class_count_ / model.class_count_.sum())
    return _Fold(
        model.classes_,
        prior,
        frequencies,
        [by_name[name] for name in names],
        target,
        y,
        folds.weights(test),
        fallback,
    )


@dataclass(eq=False, repr=False)
class Precomputed(Classifier):
    """A classifier with precomputed predictions, for scikit-learn scorers."""

    fold: Any = None  # the fold of the rows
    joint: Any = None  # log P(class) plus the terms, of shape (rows, classes)

    def __post_init__(self) -> None:
        self.classes_ = self.fold.classes if self.fold is not None else None

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict_log_proba(self, X: Any) -> Floats:
        """Return log P(class | row)."""
        out = self.joint.copy()
        if _kernels.normalize(out, "log"):
            lost = np.isnan(out).any(axis=1)
            out[lost] = self.fold.prior[lost]
        return np.asarray(out)

    def predict_proba(self, X: Any) -> Floats:
        """Return P(class | row)."""
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class."""
        codes = _kernels.argmax_rows(self.joint)
        codes[~np.isfinite(self.joint[np.arange(len(codes)), codes])] = self.fold.fallback
        return np.asarray(self.fold.classes[codes])


# -- searches ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Stage:
    """One step of a search."""

    subset: Subset  # the attributes after it
    score: float
    changed: int | None = None  # the attribute that was added or dropped
    ties: Subset = ()  # attributes that would give the same score


@dataclass(frozen=True, slots=True)
class FoundSubset:
    """The result of a search: the best subset, the path to it, and the reason for stopping."""

    subset: Subset
    path: list[Stage]
    why: str
    scores: dict[Subset, float]  # every scored subset


def greedy(
    scorer: SubsetScorer, d: int, *, forward: bool, tol: float, wanted: int | None, empty: bool
) -> FoundSubset:
    """Add the best attribute, or drop the least useful one, until the score stops improving or the size is reached.

    An addition must raise the score by more than tol; a removal may lower it by at most tol.
    """
    current: Subset = () if forward else tuple(range(d))
    path = [Stage(current, scorer.scores([current])[0])] if current or empty else []
    scores = {stage.subset: stage.score for stage in path}
    end = wanted
    why = f"the requested number of {wanted} attributes was reached"
    if end is None:
        end = d if forward else int(not empty)
        why = f"no attribute is left to {'add' if forward else 'remove'}"
    while len(current) != end:
        changes = [a for a in range(d) if a not in current] if forward else list(current)
        values = scorer.adding(current, changes) if forward else scorer.dropping(current)
        after = [tuple(sorted({*current} ^ {a})) for a in changes]
        scores.update(zip(after, values, strict=True))
        top = max(values)
        best = [i for i, value in enumerate(values) if value >= top - _EQUAL]  # ties go to the first column
        stage = Stage(after[best[0]], values[best[0]], changes[best[0]], tuple(changes[i] for i in best[1:]))
        before = path[-1].score if path else None
        if wanted is None and before is not None:
            if forward and not stage.score - before > tol + _EQUAL:
                why = (
                    f"the best addition changes the score by {stage.score - before:+.6g}, which is not above {tol:g}"
                )
                break
            if not forward and before - stage.score > tol + _EQUAL:
                why = f"the best removal lowers the score by {before - stage.score:.6g}, which is more than {tol:g}"
                break
        path.append(stage)
        current = stage.subset
    return FoundSubset(current, path, why, scores)


def exhaustive(scorer: SubsetScorer, d: int, *, wanted: int | None, empty: bool, limit: int) -> FoundSubset:
    """Score every subset; ties go to the subset with the fewest attributes, then to the first columns."""
    sizes = range(0 if empty else 1, d + 1) if wanted is None else range(wanted, wanted + 1)
    n_subsets = sum(comb(d, k) for k in sizes)
    if n_subsets > limit:
        raise OptionError(
            f"An exhaustive search of {d} attributes has {n_subsets} subsets; the limit is {limit}.",
            hint="use direction='forward' or 'backward', or increase max_subsets.",
        )
    scores = dict(scorer.every(sizes))
    top = max(scores.values())
    ties = sorted((s for s, v in scores.items() if v >= top - _EQUAL), key=lambda s: (len(s), s))
    path = []
    for k in sizes:
        of_size = {s: v for s, v in scores.items() if len(s) == k}
        best = max(of_size.values())
        path.append(Stage(min(s for s, v in of_size.items() if v >= best - _EQUAL), best))
    others = len(ties) - 1
    tied = f"; {others} other subset{'s have' if others > 1 else ' has'} the same score" if others else ""
    return FoundSubset(ties[0], path, f"all {n_subsets} subsets were scored{tied}", scores)
