"""Wrappers: choose attributes by how well a model does with them."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from countwise.errors import OptionError, TableError, check_settings
from countwise.feature_selection.selectors import Selector, flags
from countwise.feature_selection.subset_scoring import Folds, judge_for
from countwise.feature_selection.subset_search import FoundSubset, SubsetScorer, exhaustive, greedy
from countwise.naive_bayes.model import NaiveBayesClassifier
from countwise.progress import bar
from countwise.sources.labelled_table import labelled
from countwise.working import Grid

__all__ = ["WrapperSelector"]


@dataclass(eq=False, repr=False)
class WrapperSelector(Selector):
    """Choose attributes by the cross-validated score of a model that has only them.

    Works with any scikit-learn estimator, over any table that the estimator takes: columns are
    passed on as they are. A naive Bayes is not refitted: each attribute's term is computed once for
    each fold, and a subset is a sum of terms. Sums are rounded in another order than in a refit, which
    can part or join rows that tie: scores of ranks such as "roc_auc" may then differ in the third digit.

    Parameters
    ----------
    estimator : estimator, optional
        Whose score counts; by default a `NaiveBayesClassifier`.
    direction : {"forward", "backward", "exhaustive"}, default="forward"
        Add the best attribute while that helps; drop the one that is missed least while that does
        not hurt (ablation); or score every subset.
    n_features_to_select : int, optional
        Go on to just so many, whatever happens to the score.
    tol : float, default=0
        Forward: an addition must gain more than this. Backward: an omission may lose so much.
    cv : int, splitter or "leave_one_out", default=5
        The folds, as scikit-learn has them.
    scoring : str or callable, optional
        As scikit-learn has it; by default that of the estimator (accuracy of classifiers).
    allow_empty : bool, default=False
        Whether no attribute at all is a choice: then the commonest class, or the mean, answers.
    max_subsets : int, default=65536
        An exhaustive search over more is refused.
    n_jobs : int, optional
        How many subsets are refitted at a time, where refitting is needed.
    verbose : bool, default=False
        Show a progress bar.

    Attributes
    ----------
    support_ : ndarray of bool
        Which columns are chosen.
    score_ : float
        Their score.
    path_ : Grid
        Every step: how many attributes, which one was added or dropped, the score, and which
        others would have done as well. Ties go to the first column.
    scores_ : dict of tuple of str to float
        Every subset that was scored.
    why_ : str
        Why the search stopped.
    how_ : str
        "adding terms" or "refitting".

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
    'the best omission loses 0.285714, more than 0'
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
        """Search.

        Parameters
        ----------
        X : any table that the estimator takes
            Columns are passed on as they are.
        y : array-like or str
            The target of each row, or the name of its column in X.
        sample_weight : array-like, optional
            A weight for each row, for the estimator and for the scoring.
        groups : array-like, optional
            For splitters that keep groups together.

        Returns
        -------
        self
        """
        self._check_options()
        rows = labelled(X, y, sample_weight)
        model = NaiveBayesClassifier() if self.estimator is None else self.estimator
        if groups is not None and rows.kept is not None:
            groups = np.asarray(groups)[rows.kept]
        splits = _splits(self.cv, model, rows.frame.n_rows, rows.y, groups)
        if rows.weights is not None and not all(rows.weights[part].any() for split in splits for part in split):
            raise TableError(
                "All rows of a fold have weight 0: it can neither teach nor judge.", hint="use fewer folds."
            )
        folds = Folds(rows, splits, self.scoring)
        wanted = self._wanted(rows.d)
        with bar("Scoring subsets", unit="subsets") if self.verbose else nullcontext():
            judge = judge_for(model, folds, self.n_jobs)
            found = self._searched(judge, rows.d, wanted)
        self._remember(rows.X, rows.frame)
        self._keep(found)
        self.how_ = judge.how
        return self

    def _searched(self, judge: SubsetScorer, d: int, wanted: int | None) -> FoundSubset:
        if self.direction == "exhaustive":
            return exhaustive(judge, d, wanted=wanted, empty=self.allow_empty, limit=self.max_subsets)
        forward = self.direction == "forward"
        return greedy(judge, d, forward=forward, tol=float(self.tol), wanted=wanted, empty=self.allow_empty)

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
        if self.estimator is not None and not (
            hasattr(self.estimator, "fit") and hasattr(self.estimator, "get_params")
        ):
            raise OptionError(
                f"estimator={self.estimator!r} is not an estimator.", hint="it needs fit and get_params."
            )
        if not isinstance(self.tol, int | float | np.number) or not np.isfinite(self.tol):
            raise OptionError(f"tol must be a number, not {self.tol!r}.")

    def _wanted(self, d: int) -> int | None:
        wanted = self.n_features_to_select
        if wanted is None:
            return None
        whole = isinstance(wanted, int | np.integer) and not isinstance(wanted, bool)
        if not whole or not 1 <= wanted <= d:
            raise OptionError(f"n_features_to_select must be a whole number from 1 to {d}, not {wanted!r}.")
        return int(wanted)

    def plot(self, ax: Any = None) -> Any:
        """Draw the score against the number of attributes; needs matplotlib.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        matplotlib Axes
        """
        from countwise.plots import plot_search

        self._check_fitted()
        return plot_search(self, ax)


def _splits(cv: Any, model: Any, n_rows: int, y: NDArray[Any], groups: Any) -> list[tuple[Any, Any]]:
    from sklearn.base import is_classifier
    from sklearn.model_selection import LeaveOneOut, check_cv

    if isinstance(cv, str):
        if cv != "leave_one_out":
            raise OptionError(f"cv={cv!r} is unknown.", hint="give a number, a splitter or 'leave_one_out'.")
        cv = LeaveOneOut()
    splitter = check_cv(cv, y, classifier=is_classifier(model))
    return list(splitter.split(np.zeros((n_rows, 1)), y, groups))
