"""Rules that classify alone: an ordered list from a tree, or one rule for the best attribute."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Floats, Indices
from countwise.base.protocol import Classifier
from countwise.data.attributes import Nominal
from countwise.data.cells import row_of
from countwise.data.table import Table
from countwise.distributions import smoothing_of
from countwise.errors import OptionError, check_number, check_settings
from countwise.scoring.sql import rule_query
from countwise.scoring.tree import ruled
from countwise.sources import Memory
from countwise.tree.base import TreeModel
from countwise.tree.features import columns_of, features_of
from countwise.tree.model import TreeClassifier
from countwise.tree.one_rule import one_rule
from countwise.tree.pruning import between, held_out_weights
from countwise.tree.rules import RuleSet, rules_of
from countwise.tree.scoring import rules_as_terms
from countwise.tree.simplify import Cover, counted, ordered, simplified
from countwise.tree.growth.training_set import TrainingSet
from countwise.working import Account, Grid, Section
from countwise.working.numbers import percent

__all__ = ["RuleClassifier"]

_SHOWN = 12  # rules that were tried before the one that holds


class RuleClassifier(Classifier, TreeModel):
    """If-then rules that classify: an ordered list made from a tree, one rule for the best attribute, or one's own.

    The first rule whose conditions hold decides. A condition on a missing cell does not hold, unless it says
    that the cell is missing.

    Parameters
    ----------
    method : {"c45", "tree", "one_r"}, default="c45"
        The rules of a tree with conditions dropped that do not earn their keep, the most reliable first (C4.5rules);
        the rules of a pruned tree as they are; or a rule for each value, or range, of that attribute whose
        commonest classes err least (OneR, 001).
    rules : RuleSet, optional
        Rules to use as they are, in their order, as `TreeClassifier.rules` gives them; only their counts are learned.
    simplify : {"pessimistic", "held_out", None}, default="pessimistic"
        By which errors conditions of "c45" are dropped: pessimistic ones in the training rows, or those in
        rows that are held out.
    default : {"majority", "abstain"}, default="majority"
        Where no rule holds: the commonest class of the training rows left over, or no answer (None).
    n : float, default=6
        For "one_r": how many rows of one class a range of numbers must hold.
    criterion : {"gain_ratio", "gain", "gini"}, default="gain_ratio"
        Of the tree.
    nominal : {"multiway", "one_vs_rest", "subset"}, default="multiway"
        Of the tree.
    max_depth : int or None, default=None
        Of the tree.
    min_samples_leaf : float, default=2
        Of the tree.
    max_branches : int, default=1000
        Of the tree.
    confidence : float, default=0.25
        Of pessimistic errors.
    validation_fraction : float, default=0.25
        Of each class, the share held out for "held_out".
    random_state : int, default=0
        The seed of rows held out.
    smoothing : float, {"laplace"}, MEstimate or None, default=None
        Of the class shares of a rule.
    types : mapping of column to kind, str or Schema, optional
        What the columns are, where dtypes do not tell.
    categorical_features : array-like, optional
        Nominal columns as scikit-learn declares them: names, positions or a mask.

    Attributes
    ----------
    classes_ : ndarray
        The classes in order.
    rules_ : RuleSet
        The rules in order, and the default.
    errors_ : Grid
        For "one_r": how much each attribute errs.

    Examples
    --------
    >>> from countwise import RuleClassifier, samples
    >>> weather = samples.load("weather")
    >>> model = RuleClassifier(min_samples_leaf=1).fit(weather.frame, "play")
    >>> print(model.rules_)
    if outlook = overcast then play = yes  (4 rows, 100 %)
    if outlook = rainy and windy = False then play = yes  (3 rows, 100 %)
    if outlook = sunny and humidity > 77.5 then play = no  (3 rows, 100 %)
    if humidity <= 77.5 then play = yes  (3 rows, 66.7 %)
    otherwise play = no  (1 row, 100 %)
    """

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = self.method == "one_r"  # one attribute tells what it can
        return tags

    _numbers = False
    rules_: RuleSet

    def __init__(
        self,
        method: str = "c45",
        *,
        rules: RuleSet | None = None,
        simplify: str | None = "pessimistic",
        default: str = "majority",
        n: float = 6,
        criterion: str = "gain_ratio",
        nominal: str = "multiway",
        max_depth: int | None = None,
        min_samples_leaf: float = 2,
        max_branches: int = 1000,
        confidence: float = 0.25,
        validation_fraction: float = 0.25,
        random_state: int = 0,
        smoothing: Any = None,
        types: Any = None,
        categorical_features: Any = None,
    ) -> None:
        self.method = method
        self.rules = rules
        self.simplify = simplify
        self.default = default
        self.n = n
        self.criterion = criterion
        self.nominal = nominal
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.max_branches = max_branches
        self.confidence = confidence
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.smoothing = smoothing
        self.types = types
        self.categorical_features = categorical_features

    # what a list of rules has no say in
    numeric, ranges, thresholds, max_bins = "binary", "mdl", "exact", 255
    _learns_in_engines = False
    missing, unseen, min_samples_split, min_gain, threshold_cost = "fractions", "ignore", 2, 0.0, False

    def _check_settings(self) -> None:
        super()._check_settings()
        check_settings(
            self,
            method=("c45", "tree", "one_r"),
            simplify=("pessimistic", "held_out", None),
            default=("majority", "abstain"),
        )
        check_number("n", self.n, 0, above=True)
        between("confidence", self.confidence, 0.5, closed=True)
        between("validation_fraction", self.validation_fraction, 1.0)
        smoothing_of(self.smoothing)
        if self.rules is not None and not isinstance(self.rules, RuleSet):
            raise OptionError("rules must be a RuleSet, as tree.rules() gives it.")

    def _target(self, rows: Memory) -> tuple[Nominal, NDArray[Any], int]:
        return TreeClassifier._target(self, rows)  # type: ignore[arg-type]

    def _learned(self, ground: TrainingSet, target: Nominal) -> dict[str, Any]:
        cover = Cover(ground)
        if self.rules is not None:
            return {"rules_": counted(self._given(ground, target), cover)}
        if self.method == "one_r":
            rules, table = one_rule(ground, target, float(self.n))
            return {"rules_": counted(rules, cover), "errors_": table}
        grown = self._tree(ground, target)
        if self.method == "tree":
            return {"rules_": counted(rules_of(grown), cover)}
        return {"rules_": ordered(self._simplified(grown, ground, target), cover, float(self.confidence))}

    def _given(self, ground: TrainingSet, target: Nominal) -> RuleSet:
        assert self.rules is not None  # noqa: S101 - asked before
        odd = [rule.answer for rule in self.rules if rule.answer not in target.values]
        known = {f.name for f in ground.features}
        lost = [c.attribute for rule in self.rules for c in rule.conditions if c.attribute not in known]
        if odd or lost:
            what = f"the class {odd[0]!r}" if odd else f"the attribute {lost[0]!r}"
            raise OptionError(f"The rules name {what}, which the table has not.")
        return RuleSet(target.name, target.values, self.rules.rules)

    def _tree(self, ground: TrainingSet, target: Nominal) -> TreeClassifier:
        """The tree that rules are read off."""
        whole = self.method == "c45"
        tree = TreeClassifier(
            self.criterion,
            nominal=self.nominal,
            max_depth=self.max_depth,
            min_samples_leaf=self.min_samples_leaf,
            max_branches=self.max_branches,
            pruning=None if whole else "pessimistic",
            confidence=self.confidence,
        )
        tree.adopt(ground, target)
        return tree

    def _simplified(self, grown: TreeClassifier, ground: TrainingSet, target: Nominal) -> RuleSet:
        if self.simplify is None:
            return rules_of(grown)
        if self.simplify == "pessimistic":
            return simplified(rules_of(grown), Cover(ground), float(self.confidence))
        held = held_out_weights(ground, float(self.validation_fraction), self.random_state)
        whole = np.ones(ground.n_rows, dtype=np.int64) if ground.weights is None else ground.weights
        grown = self._tree(ground.weighed(whole - held), target)
        return simplified(rules_of(grown), Cover(ground.weighed(held)), None)

    def _derive(self) -> None:
        self.classes_ = self.target_.labels(self._label_type)
        default = self.rules_.default
        assert default is not None  # noqa: S101 - every list that is learned has one
        every = [*self.rules_, default]
        counts = np.array([rule.counts for rule in every]).reshape(len(every), -1)
        pseudo = smoothing_of(self.smoothing).pseudo(counts.sum(axis=0)[None], self.target_.values)
        counts = counts + pseudo
        empty = counts.sum(axis=1) <= 0
        for i in np.flatnonzero(empty):  # a rule that decided no row is trusted as it stands
            counts[i, self.target_.values.index(every[i].answer)] = 1.0
        self._probabilities = counts / counts.sum(axis=1, keepdims=True)
        names = {c.attribute for rule in self.rules_ for c in rule.conditions}
        self._used = [j for j, f in enumerate(self._features) if f.name in names]

    # -- answers ---------------------------------------------------------------------

    def decides(self, X: Any) -> Indices:
        """The number of the rule that decides each row; that of the default is the number of rules.

        Parameters
        ----------
        X : any table
            Columns are found by name, or by place in an array.

        Returns
        -------
        ndarray, shape (rows,)
        """
        frame = self._open(X)
        return self._deciding(self._table(frame, 0, frame.n_rows))

    def _deciding(self, table: Table) -> Indices:
        columns = columns_of(self._features, table, self._used)
        cover = Cover(TrainingSet(self._features, columns, np.zeros(table.n_rows, dtype=np.uint8), None, 1))
        found = np.full(table.n_rows, len(self.rules_), dtype=np.int64)
        free = np.ones(table.n_rows, dtype=bool)
        for i, rule in enumerate(self.rules_):
            mine = cover.all_of(rule.conditions) & free
            found[mine] = i
            free &= ~mine
        return found

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of the first rule that holds; else the default, or None if it abstains.

        Parameters
        ----------
        X : any table
            Columns are found by name, or by place in an array.

        Returns
        -------
        ndarray, shape (rows,)
        """
        which = self.decides(X)
        default = self.rules_.default
        assert default is not None  # noqa: S101 - see above
        index = {value: c for c, value in enumerate(self.target_.values)}
        answers = self.classes_[[index[rule.answer] for rule in (*self.rules_, default)]]
        if self.default == "abstain":
            answers = np.array([*answers[:-1].tolist(), None], dtype=object)
        return answers[which]

    def predict_proba(self, X: Any) -> Floats:
        """P(class | row): the shares of the classes among the training rows that the same rule decides.

        Where the list abstains they are NaN.

        Parameters
        ----------
        X : any table
            Columns are found by name, or by place in an array.

        Returns
        -------
        ndarray, shape (rows, classes)
        """
        which = self.decides(X)
        found = self._probabilities[which]
        if self.default == "abstain":
            found[which == len(self.rules_)] = np.nan
        return found

    def explain(self, X: Any, *, row: int = 0) -> Account:
        """Which rule decided, and why none before it did.

        Parameters
        ----------
        X : any table
            Columns are found by name, or by place in an array.
        row : int, default=0
            Which row.

        Returns
        -------
        Account

        Examples
        --------
        >>> from countwise import RuleClassifier, samples
        >>> tennis = samples.load("tennis")
        >>> print(RuleClassifier("one_r").fit(tennis.frame, "play").explain(tennis.X, row=0))
        play = No, with probability 60.0 %.
        <BLANKLINE>
        Rules, in the order in which they are asked
          rule                                                    holds
          if outlook = Overcast then play = Yes  (4 rows, 100 %)  no: outlook = Overcast does not hold
          if outlook = Rain then play = Yes  (5 rows, 60.0 %)     no: outlook = Rain does not hold
          if outlook = Sunny then play = No  (5 rows, 60.0 %)     yes
        """
        frame = self._open(X)
        row = row_of(frame, row)
        table = self._table(frame, row, row + 1)
        return self._account(table, int(self._deciding(table)[0]))

    def _account(self, table: Table, which: int) -> Account:
        columns = columns_of(self._features, table, self._used)
        cover = Cover(TrainingSet(self._features, columns, np.zeros(1, dtype=np.uint8), None, 1))
        lines = str(self.rules_).split("\n")
        first = max(0, which - _SHOWN)
        told = []
        for i in range(first, min(which + 1, len(self.rules_))):
            failed = [c for c in self.rules_[i].conditions if not cover.of(c)[0]]
            told.append(f"no: {failed[0]} does not hold" if failed else "yes")
        shown = lines[first : first + len(told)]
        if which == len(self.rules_):
            shown, told = [*shown, lines[-1]], [*told, "yes: no rule holds"]
        section = Section("Rules, in the order in which they are asked", Grid({"rule": shown, "holds": told}))
        notes = (f"{first} rules before these do not hold either.",) if first else ()
        p = self._probabilities[which]
        best = self.target_.values.index((*self.rules_, self.rules_.default)[which].answer)
        posterior = dict(zip(self.classes_.tolist(), p.tolist(), strict=True))
        if which == len(self.rules_) and self.default == "abstain":
            return Account(f"No rule holds: {self.target_.name} is left open.", float("nan"), (section,), notes)
        sure = percent(float(p[best]), certain=float(p[best]) == 1.0)
        answer = f"{self.target_.name} = {self.target_.values[best]}, with probability {sure}."
        return Account(answer, float(p[best]), (section,), notes, posterior)

    def predict_frame(self, X: Any, *, proba: bool = True, reasons: int = 0) -> Any:
        """The table with columns for the class and its probabilities, computed where it lies.

        Where the list abstains they are null.

        Parameters
        ----------
        X : relation or frame
            DuckDB relation, Polars LazyFrame, Dask or PySpark DataFrame, Ibis table; eager frames too.
        proba : bool, default=True
            Whether a column P(class) is appended for each class.
        reasons : int, default=0
            How many of the columns that the deciding rule asks for are named.

        Returns
        -------
        the same kind of frame
            Lazy ones stay lazy.
        """
        self._check_fitted()
        return ruled(X, rules_as_terms(self), proba=proba, reasons=reasons)

    def to_sql(self, table: str, dialect: str = "duckdb", *, proba: bool = True) -> str:
        """A query that scores the rows of a table without Python.

        Parameters
        ----------
        table : str
            The table; a name with dots is one of a schema.
        dialect : {"duckdb", "postgres", "spark", "sqlite"}, default="duckdb"
            Whose SQL.
        proba : bool, default=True
            Whether the probabilities are given beside the class.

        Returns
        -------
        str

        Examples
        --------
        >>> from countwise import RuleClassifier, samples
        >>> tennis = samples.load("tennis")
        >>> print(RuleClassifier("one_r").fit(tennis.frame, "play").to_sql("days", "sqlite", proba=False))
        WITH cw_cells AS (
          SELECT *,
            CAST("outlook" AS TEXT) COLLATE BINARY AS "cw outlook"
          FROM "days"
        )
        SELECT *,
          CASE
            WHEN "cw outlook" = 'Overcast' THEN 'Yes'
            WHEN "cw outlook" = 'Rain' THEN 'Yes'
            WHEN "cw outlook" = 'Sunny' THEN 'No'
            ELSE 'Yes'
          END AS "predicted play"
        FROM cw_cells
        """
        self._check_fitted()
        return rule_query(rules_as_terms(self), table, dialect, proba=proba)

    def _state(self) -> dict[str, Any]:
        given = None if self.rules is None else self._counted_by_none(self.rules).to_dict()
        return {"rules": self.rules_.to_dict(), "given": given}

    def _counted_by_none(self, rules: RuleSet) -> RuleSet:
        """Rules with a count for each class of this model, so that a file can be checked."""
        zeros = (0.0,) * len(self.target_.values)
        return replace(rules, rules=tuple(replace(rule, counts=zeros) for rule in rules), default=None)

    def _revive(self, state: Mapping[str, Any]) -> None:
        self._features = features_of(self.schema_)
        known = {f.name for f in self._features}
        self.rules_ = RuleSet.from_dict(state["rules"], self.target_.values, known)
        if state.get("given") is not None:
            self.rules = RuleSet.from_dict(state["given"], self.target_.values, known)
        self._derive()

    def coverage(self, X: Any) -> float:
        """The share of rows for which some rule holds.

        Parameters
        ----------
        X : any table
            Columns are found by name, or by place in an array.

        Returns
        -------
        float
        """
        return float(np.mean(self.decides(X) < len(self.rules_)))
