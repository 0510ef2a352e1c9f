"""Wrapper selection: attribute subsets are compared by the cross-validated score of a model."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from countwise.errors import OptionError, TableError, check_flag, check_settings, own_warnings
from countwise.feature_selection.selectors import Selector, flags, is_number, refuse_estimator
from countwise.feature_selection.subset_scoring import (
    Folds,
    FoundSubset,
    SubsetScorer,
    exhaustive,
    greedy,
    scorer_for,
)
from countwise.naive_bayes.model import NaiveBayesClassifier
from countwise.progress import bar
from countwise.sources.labelled_table import labelled
from countwise.splits import checked_splits
from countwise.working import Grid

__all__ = ["WrapperSelector"]


@dataclass(eq=False, repr=False)
class WrapperSelector(Selector):
    """Wrapper selection: search for the attribute subset with the best cross-validated score of a model.

    It works with any scikit-learn estimator and any table that the estimator accepts. A naive Bayes model is not
    refitted for each subset: the term of each attribute is computed once for each fold, and a subset is a sum of
    terms.

    Parameters
    ----------
    estimator : estimator, optional
        The model whose score is optimized. By default a `NaiveBayesClassifier`.
    direction : {'forward', 'backward', 'exhaustive'}, default='forward'
        'forward' adds the best attribute while the score improves; the first one is always added unless
        `allow_empty` is True. 'backward' starts with all attributes and removes the least useful one while the score
        does not drop. 'exhaustive' scores every subset.
    n_features_to_select : int, optional
        Continue to exactly this number of attributes, whatever the score. By default the search stops when the score
        no longer improves.
    tol : float, default=0.0
        An addition must raise the score by more than `tol`; a removal may lower it by at most `tol`.
    cv : int, splitter or 'leave_one_out', default=5
        Number of folds, a scikit-learn splitter, or leave-one-out.
    scoring : str or callable, optional
        A scikit-learn scoring parameter. By default the `score` method of the estimator, which is the accuracy of
        classifiers.
    allow_empty : bool, default=False
        Whether the empty subset is allowed. It predicts the class frequencies, or the mean of a numeric target.
    max_subsets : int, default=65536
        Largest number of subsets of an exhaustive search; more raise an error.
    n_jobs : int, optional
        Number of subsets that are refitted in parallel. Ignored for naive Bayes.
    verbose : bool, default=False
        Whether to show a progress bar.

    Attributes
    ----------
    support_ : ndarray of bool of shape (n_features,)
        Mask of the selected columns.
    score_ : float
        The cross-validated score of the selected columns.
    path_ : Grid
        The steps of the search: number of attributes, attribute added or removed, score, and the attributes that
        would give the same score. Ties go to the first column.
    scores_ : dict of tuple of str to float
        The score of every subset that was evaluated.
    why_ : str
        The reason why the search stopped.
    how_ : str
        How subsets were scored: 'adding terms' or 'refitting'.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of str
        Names of the columns seen in `fit`, if the table has column names.
    names_ : tuple of str
        Names of the columns seen in `fit`; "x0", "x1", ... if the table has no column names.

    Notes
    -----
    The terms of naive Bayes are added in a different order than in a refitted model. Rounding can then create or
    break ties between rows, so that rank scores such as 'roc_auc' may differ slightly from those of a refit.

    Examples
    --------
    >>> from countwise import WrapperSelector, samples
    >>> tennis = samples.load("tennis")
    >>> search = WrapperSelector(direction="backward", cv="leave_one_out").fit(tennis.X, tennis.y)
    >>> search.get_feature_names_out().tolist(), round(14 * search.score_)
    (['outlook', 'humidity'], 11)
    >>> print(search.path_)
    attributes  changed           score  ties
             4                 0.5
             3  - wind         0.642857
             2  - temperature  0.785714
    >>> search.why_
    'the best removal lowers the score by 0.285714, which is more than 0'
    """

    estimator: Any = None
    direction: str = "forward"
    _: KW_ONLY
    n_features_to_select: int | None = None
    tol: float = 0.0
    cv: Any = 5
    scoring: Any = None
    allow_empty: bool = False
    max_subsets: int = 65_536
    n_jobs: int | None = None
    verbose: bool = False

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> Self:
        """Search for the best subset of attributes.

        Parameters
        ----------
        X : any table that the estimator accepts
            The columns to select from; they are passed to the estimator unchanged.
        y : array-like or str
            The target of each row, or the name of its column in X.
        sample_weight : array-like, optional
            Weight of each row, used for fitting and for scoring.
        groups : array-like, optional
            Group of each row, for splitters that hold out groups together.

        Returns
        -------
        self
            The fitted selector.

        Examples
        --------
        >>> from countwise import WrapperSelector, samples
        >>> tennis = samples.load("tennis")
        >>> WrapperSelector(cv="leave_one_out").fit(tennis.X, tennis.y).path_["changed"]
        ['+ outlook', '+ humidity']
        """
        self._check_options()
        rows = labelled(X, y, sample_weight)
        model = NaiveBayesClassifier() if self.estimator is None else self.estimator
        if groups is not None and rows.kept is not None:
            groups = np.asarray(groups)[rows.kept]
        splits = _splits(self.cv, model, rows.frame.n_rows, rows.y, groups)
        if rows.weights is not None and not all(rows.weights[part].any() for split in splits for part in split):
            raise TableError(
                "All training rows or all test rows of a fold have weight 0; each needs a positive total weight.",
                hint="use fewer folds.",
            )
        folds = Folds(rows, splits, self.scoring)
        wanted = self._wanted(rows.d)
        with bar("Scoring subsets", unit="subsets") if self.verbose else nullcontext():
            scorer = scorer_for(model, folds, self.n_jobs)
            found = self._searched(scorer, rows.d, wanted)
        self._remember(rows.X, rows.frame)
        self._keep(found)
        self.how_ = scorer.how
        return self

    def _searched(self, scorer: SubsetScorer, d: int, wanted: int | None) -> FoundSubset:
        if self.direction == "exhaustive":
            return exhaustive(scorer, d, wanted=wanted, empty=self.allow_empty, limit=self.max_subsets)
        forward = self.direction == "forward"
        return greedy(scorer, d, forward=forward, tol=float(self.tol), wanted=wanted, empty=self.allow_empty)

    def _keep(self, found: FoundSubset) -> None:
        names = self.names_
        self.support_ = flags(len(names), list(found.subset))
        self.score_ = found.scores[found.subset]
        self.scores_ = {tuple(names[a] for a in subset): score for subset, score in found.scores.items()}
        self.why_ = found.why
        sign = {"forward": "+ ", "backward": "- "}.get(self.direction, "")
        changed = [
            ", ".join(names[a] for a in stage.subset) if not sign
            else "" if stage.changed is None else f"{sign}{names[stage.changed]}"
            for stage in found.path
        ]  # fmt: skip
        self.path_ = Grid(
            {
                "attributes": [len(stage.subset) for stage in found.path],
                "changed" if sign else "best of this size": changed,
                "score": [stage.score for stage in found.path],
                **({"ties": [", ".join(names[a] for a in stage.ties) for stage in found.path]} if sign else {}),
            }
        )

    def _check_options(self) -> None:
        check_settings(self, direction=("exhaustive", "forward", "backward"))
        refuse_estimator(self.estimator)
        for name in ("allow_empty", "verbose"):
            check_flag(name, getattr(self, name))
        if not is_number(self.tol):
            raise OptionError(f"tol must be a finite number, not {self.tol!r}.")

    def _wanted(self, d: int) -> int | None:
        wanted = self.n_features_to_select
        if wanted is None:
            return None
        whole = isinstance(wanted, int | np.integer) and not isinstance(wanted, bool)
        if not whole or not 1 <= wanted <= d:
            raise OptionError(f"n_features_to_select must be an integer from 1 to {d}, not {wanted!r}.")
        return int(wanted)

    def plot(self, ax: Any = None) -> Any:
        """Draw the score against the number of attributes.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on. By default new ones.

        Returns
        -------
        matplotlib Axes
            The axes with the plot.

        See Also
        --------
        countwise.plots.plot_search : The same as a function.

        Examples
        --------
        >>> from countwise import WrapperSelector, samples
        >>> tennis = samples.load("tennis")
        >>> WrapperSelector(cv=2).fit(tennis.X, tennis.y).plot().get_xlabel()
        'number of attributes'
        """
        from countwise.plots import plot_search

        self._check_fitted()
        return plot_search(self, ax)


def _splits(cv: Any, model: Any, n_rows: int, y: NDArray[Any], groups: Any) -> list[tuple[Any, Any]]:
    from sklearn.base import is_classifier
    from sklearn.model_selection import LeaveOneOut, check_cv

    if isinstance(cv, str):
        if cv != "leave_one_out":
            raise OptionError(f"cv must be an integer, a splitter or 'leave_one_out', not {cv!r}.")
        cv = LeaveOneOut()
    try:
        with own_warnings():
            splitter = check_cv(cv, y, classifier=is_classifier(model))
            splits = [(train, test) for train, test in splitter.split(np.zeros((n_rows, 1)), y, groups)]
    except (TypeError, ValueError) as error:
        raise OptionError(f"cv cannot split the {n_rows} rows: {error}") from None
    if not splits:
        raise OptionError("cv has no folds; at least one is needed.")
    return checked_splits(splits, n_rows)
