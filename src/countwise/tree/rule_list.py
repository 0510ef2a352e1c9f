"""Rule list classifier: C4.5rules, the rules of a tree, OneR, or given rules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Floats, Indices
from countwise.base.model import row_numbers_section
from countwise.base.protocol import Classifier, dirichlet_draws
from countwise.cuts import min_n
from countwise.data.attributes import Nominal
from countwise.data.frames import Frame
from countwise.data.table import Table
from countwise.distributions import smoothing_of
from countwise.engines.execute import executed
from countwise.errors import SEED, OptionError, check_number, check_settings, printable
from countwise.jsonfile import plain_value
from countwise.scoring.sql import rule_query
from countwise.scoring.tree import ruled
from countwise.sources import Memory
from countwise.tree.base import FeatureModel
from countwise.tree.conditions import Condition, portrait_of, range_condition
from countwise.tree.features import Feature, columns_of, features_of
from countwise.tree.growth.grow_memory import MemoryTrainingSet
from countwise.tree.growth.settings import check_growth_settings, growth_settings
from countwise.tree.growth.sorted_column import values_by_class
from countwise.tree.nodes import first_best
from countwise.tree.pruning import between, held_out_weights, prune_pessimistically
from countwise.tree.rules import (
    Cover,
    Rule,
    RuleSet,
    SimplifiedRule,
    counted,
    exhaustive,
    ordered,
    rules_of,
    simplified,
)
from countwise.tree.scoring import rules_as_terms
from countwise.tree.working import simplification_account
from countwise.working import Account, Grid, Section
from countwise.working.numbers import percent

__all__ = ["RuleClassifier"]

_SHOWN = 12  # rules shown in a summary, and before the rule that applies in an explanation


@dataclass(eq=False, repr=False)
class RuleClassifier(Classifier, FeatureModel):
    """Classifier by an ordered list of if-then rules: C4.5rules, the rules of a tree, OneR, or given rules.

    The first rule whose conditions all hold predicts the class. If a value is missing, a condition on it does not
    hold, unless the condition is that the value is missing.

    Parameters
    ----------
    method : {'c45', 'tree', 'one_r'}, default='c45'
        How the rules are learned. 'c45' grows a tree, drops unnecessary conditions from its rules and puts the most
        reliable rules first (C4.5rules). 'tree' uses the rules of a tree after pessimistic pruning. 'one_r' makes a
        rule for each value, or bin, of a single attribute: the one with the fewest training errors (OneR).
    rules : RuleSet, optional
        Rules to use in the given order, as `TreeClassifier.rules` returns them. Only their counts are estimated from
        the training rows, and `method` is ignored.
    simplify : {'pessimistic', 'held_out', None}, default='pessimistic'
        Error estimate by which 'c45' drops conditions. 'pessimistic' uses an upper confidence limit of the training
        errors, 'held_out' the errors on held-out rows. None drops no conditions.
    default : {'majority', 'abstain'}, default='majority'
        Prediction if no rule holds. 'majority' predicts the most frequent class of the training rows that no rule
        covers. 'abstain' predicts None, with probabilities NaN.
    n : float, default=6
        For 'one_r': smallest number of rows of the majority class in a bin of a numeric column. The last bin may have
        fewer.
    criterion : {'gain_ratio', 'gain', 'gini'}, default='gain_ratio'
        Split criterion of the tree. See `TreeClassifier`.
    nominal : {'multiway', 'one_vs_rest', 'subset'}, default='multiway'
        How the tree splits nominal columns. See `TreeClassifier`.
    max_depth : int or None, default=None
        Largest depth of the tree. None sets no limit.
    min_samples_leaf : float, default=2
        Smallest total weight of the rows of a branch of the tree.
    max_branches : int, default=1000
        Largest number of values of a nominal column with ``nominal="multiway"``. More values raise an error.
    confidence : float, default=0.25
        Confidence level of pessimistic errors, above 0 and at most 0.5. Smaller values prune and simplify more.
    validation_fraction : float, default=0.25
        Fraction of each class that is held out for ``simplify="held_out"``.
    random_state : int, default=0
        Seed for choosing the held-out rows.
    smoothing : float, 'laplace', MEstimate or None, default=None
        Smoothing of the class frequencies of a rule. See `TreeClassifier`.
    types : mapping of column to type, str or Schema, optional
        Types of the columns; by default the dtype decides. See `NaiveBayesClassifier`.
    categorical_features : array-like, optional
        Nominal columns as names, positions or a mask, as in scikit-learn.

    Attributes
    ----------
    classes_ : ndarray
        The classes, sorted.
    rules_ : RuleSet
        The rules in order, and the default rule. There is no default rule if the rules cover every row without
        missing values, as the leaves of a tree do, and if ``default="abstain"``.
    default_ : Rule
        Prediction if no rule holds; also for rows whose tested values are missing.
    errors_ : Grid
        With ``method="one_r"``: the training errors and the accuracy of each attribute.
    schema_ : Schema
        The type and the values of each column.
    target_ : Nominal
        The name of the target and its classes.
    n_rows_ : int
        Number of training rows.
    n_left_out_ : int
        Number of rows skipped because their target is missing.
    n_features_in_ : int
        Number of columns seen in `fit`.
    feature_names_in_ : ndarray of str
        Names of the columns seen in `fit`, if the table has column names.

    References
    ----------
    Quinlan, J. R. (1993). C4.5: Programs for Machine Learning, chapter 5. Morgan Kaufmann.

    Holte, R. C. (1993). Very simple classification rules perform well on most commonly used datasets. Machine
    Learning 11, 63-90.

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

    method: str = "c45"
    _: KW_ONLY
    rules: RuleSet | None = None
    simplify: str | None = "pessimistic"
    default: str = "majority"
    n: float = 6
    criterion: str = "gain_ratio"
    nominal: str = "multiway"
    max_depth: int | None = None
    min_samples_leaf: float = 2
    max_branches: int = 1000
    confidence: float = 0.25
    validation_fraction: float = 0.25
    random_state: int = 0
    smoothing: Any = None
    types: Any = None
    categorical_features: Any = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = self.method == "one_r"  # it uses a single attribute
        return tags

    rules_: RuleSet = field(init=False)
    default_: Rule = field(init=False)
    _simplification: tuple[SimplifiedRule, ...] = field(init=False)
    _codes: NDArray[np.intp] = field(init=False)  # class code of each rule, and of the default rule

    # -- learning --------------------------------------------------------------------

    def _check_settings(self) -> None:
        check_growth_settings(self, numeric_target=False)
        check_settings(
            self,
            method=("c45", "tree", "one_r"),
            simplify=("pessimistic", "held_out", None),
            default=("majority", "abstain"),
            random_state=SEED,
        )
        check_number("n", self.n, 0, above=True)
        between("confidence", self.confidence, 0.5, closed=True)
        between("validation_fraction", self.validation_fraction, 1.0)
        smoothing_of(self.smoothing)
        if self.rules is not None and not isinstance(self.rules, RuleSet):
            raise OptionError(
                f"rules must be a RuleSet, not {type(self.rules).__name__}.",
                hint="pass the result of TreeClassifier.rules().",
            )

    def _learn(self, rows: Memory) -> dict[str, Any]:
        data = MemoryTrainingSet.of(rows, self._infer_schema(rows.frame), *self._encode_target(rows))
        common: dict[str, Any] = {"schema_": data.schema, "target_": data.target, "_features": data.features}
        cover = _cover_of(data)
        common["_simplification"] = ()
        if self.rules is not None:
            rules = counted(self._own_rules(self.rules, data), cover)
        elif self.method == "one_r":
            rules, common["errors_"] = one_rule(data, cover, float(self.n))
            rules = counted(rules, cover)
        elif self.method == "tree":
            rules = counted(self._tree_rules(data), cover)
        else:
            rules, common["_simplification"] = self._simplified(data, cover)
            rules = ordered(rules, cover, float(self.confidence))
        default = rules.default
        assert default is not None  # noqa: S101 - every list that was counted has a default
        known = {f.name: f for f in data.features}
        return {**common, "rules_": self._shown(rules, default, known), "default_": default}

    def _shown(self, rules: RuleSet, default: Rule, known: Mapping[str, Feature]) -> RuleSet:
        """Return the rules without a default that no row needs, or that is not predicted."""
        unused = self.default == "abstain" or (not default.support and exhaustive(rules, known))
        return replace(rules, default=None if unused else default)

    def _own_rules(self, rules: RuleSet, data: MemoryTrainingSet) -> RuleSet:
        """Return the given rules after checking their classes and attributes."""
        assert isinstance(data.target, Nominal)  # noqa: S101 - rules predict classes
        odd = [rule.answer for rule in rules if rule.answer not in data.target.values]
        known = {f.name for f in data.features}
        unknown = [c.attribute for rule in rules for c in rule.conditions if c.attribute not in known]
        if odd or unknown:
            raise OptionError(
                f"The rules predict class {odd[0]!r}, but the target {data.target.name!r} has no such class."
                if odd
                else f"The rules test {unknown[0]!r}, but the table has no such column."
            )
        return RuleSet(data.target.name, data.target.values, rules.rules)

    def _tree_rules(self, data: MemoryTrainingSet) -> RuleSet:
        """Return the rules of a tree, which is pruned for method 'tree'."""
        assert isinstance(data.target, Nominal)  # noqa: S101 - rules predict classes
        tree = data.grow(growth_settings(self))
        if self.method == "tree":
            tree = prune_pessimistically(tree, float(self.confidence))
        best = first_best(tree.cells / np.maximum(tree.weights(numeric=False), 1e-300)[:, None])
        return rules_of(tree, data.features, data.target.name, data.target.values, best.tolist())

    def _simplified(self, data: MemoryTrainingSet, cover: Cover) -> tuple[RuleSet, tuple[SimplifiedRule, ...]]:
        """Return the rules of the unpruned tree without unnecessary conditions, and the steps of each rule."""
        if self.simplify is None:
            return self._tree_rules(data), ()
        if self.simplify == "pessimistic":
            return simplified(self._tree_rules(data), cover, float(self.confidence))
        held = held_out_weights(data, float(self.validation_fraction), self.random_state)
        rules = self._tree_rules(data.weighed(data.own_weights - held))
        return simplified(rules, _cover_of(data.weighed(held)), None)

    def _derive(self) -> None:
        self.classes_ = self.target_.labels(self._label_type)
        every = [*self.rules_, self.default_]
        counts = np.array([rule.counts for rule in every]).reshape(len(every), -1)
        pseudo = smoothing_of(self.smoothing).pseudo(counts.sum(axis=0)[None], self.target_.values)
        counts = counts + pseudo
        empty = counts.sum(axis=1) <= 0
        index = {value: c for c, value in enumerate(self.target_.values)}
        self._codes = np.array([index[rule.answer] for rule in every], dtype=np.intp)
        counts[empty, self._codes[empty]] = 1.0  # a rule without training rows predicts its class with probability 1
        self._probabilities = counts / counts.sum(axis=1, keepdims=True)
        names = {c.attribute for rule in self.rules_ for c in rule.conditions}
        self._used = [j for j, f in enumerate(self._features) if f.name in names]

    # -- predicting ------------------------------------------------------------------

    def decides(self, X: Any) -> Indices:
        """Return the index of the rule that predicts each row.

        Parameters
        ----------
        X : table
            The rows.

        Returns
        -------
        ndarray of int64, shape (n_rows,)
            Indices into `rules_`; ``len(rules_)`` where no rule holds and the default applies.

        Examples
        --------
        >>> from countwise import RuleClassifier, samples
        >>> tennis = samples.load("tennis")
        >>> RuleClassifier("one_r").fit(tennis.frame, "play").decides(tennis.X)[:4].tolist()
        [2, 2, 0, 1]
        """
        frame = self._open(X)
        return self._deciding(self._table(frame, 0, frame.n_rows))

    def _cover(self, table: Table) -> Cover:
        return Cover(self._features, columns_of(self._features, table, self._used), table.n_rows)

    def _deciding(self, table: Table) -> Indices:
        cover = self._cover(table)
        found = np.full(table.n_rows, len(self.rules_), dtype=np.int64)
        free = np.ones(table.n_rows, dtype=bool)
        for i, rule in enumerate(self.rules_):
            mine = cover.all_of(rule.conditions) & free
            found[mine] = i
            free &= ~mine
        return found

    def apply(self, X: Any) -> Indices:
        """Return the index of the rule that decides each row, as the trees return the leaf; see `decides`.

        Parameters
        ----------
        X : table
            The rows.

        Returns
        -------
        ndarray of int64, shape (n_rows,)
            Positions in `rules_`; ``len(rules_)`` where only the default holds.

        Examples
        --------
        >>> from countwise import RuleClassifier, samples
        >>> tennis = samples.load("tennis")
        >>> model = RuleClassifier("one_r").fit(tennis.frame, "play")
        >>> model.apply(tennis.X)[:3].tolist() == model.decides(tennis.X)[:3].tolist()
        True
        """
        return self.decides(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of the first rule that holds for each row, or the default if none does.

        Parameters
        ----------
        X : table
            The rows to predict.

        Returns
        -------
        ndarray of shape (n_rows,)
            The predicted classes. With ``default="abstain"``, None where no rule holds.

        Examples
        --------
        >>> from countwise import RuleClassifier, samples
        >>> tennis = samples.load("tennis")
        >>> RuleClassifier().fit(tennis.frame, "play").predict(tennis.X)[:3].tolist()
        ['No', 'No', 'Yes']
        """
        which = self.decides(X)
        predicted = self.classes_[self._codes]
        if self.default == "abstain":
            predicted = np.array([*predicted[:-1].tolist(), None], dtype=object)
        return predicted[which]

    def predict_proba(self, X: Any) -> Floats:
        """Return P(class | row) for each row and class.

        The probabilities are the smoothed class frequencies of the training rows that the same rule predicts.

        Parameters
        ----------
        X : table
            The rows to predict.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            The columns are in the order of `classes_`. With ``default="abstain"``, NaN where no rule holds.

        Examples
        --------
        >>> from countwise import RuleClassifier, samples
        >>> tennis = samples.load("tennis")
        >>> RuleClassifier("one_r").fit(tennis.frame, "play").predict_proba(tennis.X)[:2].tolist()
        [[0.6, 0.4], [0.6, 0.4]]
        """
        which = self.decides(X)
        found = self._probabilities[which]
        if self.default == "abstain":
            found[which == len(self.rules_)] = np.nan
        return found

    def explain(self, X: Any, *, row: int = 0, rows: Any = None) -> Account:
        """Explain which rule predicts a row, and why the rules before it do not hold.

        Parameters
        ----------
        X : table
            The table that holds the row.
        row : int, default=0
            Position of the row in the table, counted from 0.
        rows : table or tuple (X, y) or None, default=None
            The training table. With it, the working lists the numbers of the training rows that the rule decides.

        Returns
        -------
        Account
            The working; print it, or display it in a notebook.

        Examples
        --------
        >>> from countwise import RuleClassifier, samples
        >>> tennis = samples.load("tennis")
        >>> print(RuleClassifier("one_r").fit(tennis.frame, "play").explain(tennis.X, row=0))
        play = No with probability 60.0 %.
        <BLANKLINE>
        Rules in the order in which they are tried
          rule                                                    holds
          if outlook = Overcast then play = Yes  (4 rows, 100 %)  no: outlook = Overcast does not hold
          if outlook = Rain then play = Yes  (5 rows, 60.0 %)     no: outlook = Rain does not hold
          if outlook = Sunny then play = No  (5 rows, 60.0 %)     yes
        """
        table = self._row(X, row)
        which, cover = int(self._deciding(table)[0]), self._cover(table)
        lines = str(replace(self.rules_, default=self.default_)).split("\n")
        first = max(0, which - _SHOWN)
        holds = []
        for i in range(first, min(which + 1, len(self.rules_))):
            failed = [c for c in self.rules_[i].conditions if not cover.of(c)[0]]
            holds.append(f"no: {failed[0]} does not hold" if failed else "yes")
        shown = lines[first : first + len(holds)]
        if which == len(self.rules_):
            last = "otherwise no prediction" if self.default == "abstain" else lines[-1]
            shown, holds = [*shown, last], [*holds, "yes: no rule holds"]
        section = Section("Rules in the order in which they are tried", Grid({"rule": shown, "holds": holds}))
        sections = [section]
        if (train := self._training_rows(rows)) is not None:
            mine = self._deciding(self._table(train.frame, 0, train.n_rows)) == which
            codes, name = self.target_.encode(train.target, strict=True), self.target_.name
            counts = [(f"{name} = {v}", mine & (codes == c)) for c, v in enumerate(self.classes_)]
            sections.append(row_numbers_section(counts, train))
        notes = (f"The {first} rules before these do not hold either.",) if first else ()
        p = self._probabilities[which]
        best = int(self._codes[which])
        posterior = dict(zip(self.classes_.tolist(), p.tolist(), strict=True))
        if which == len(self.rules_) and self.default == "abstain":
            title = f"No rule holds; {self.target_.name} is not predicted."
            return Account(title, float("nan"), tuple(sections), notes)
        probability = percent(float(p[best]), certain=float(p[best]) == 1.0)
        title = f"{self.target_.name} = {self.target_.values[best]} with probability {probability}."
        return Account(title, float(p[best]), tuple(sections), notes, posterior)

    def simplification_report(self) -> Account:
        """Return how conditions were dropped from the rules of the tree (C4.5rules), with every error rate.

        Returns
        -------
        Account
            The rules of the tree beside those that remain, and a section for each rule: the rows and the errors of
            the rule without each of its conditions, and the estimated error rate that decides. `value` is the number
            of conditions that were dropped.

        Raises
        ------
        OptionError
            If no conditions were dropped, because of `method`, `rules` or ``simplify=None``.

        Examples
        --------
        >>> from countwise import RuleClassifier, samples
        >>> tennis = samples.load("tennis")
        >>> report = RuleClassifier(min_samples_leaf=1).fit(tennis.frame, "play").simplification_report()
        >>> print(report.sections[-1])
        if outlook = Sunny and humidity = Normal then Yes
          step  without            rows  errors         U
             1  (nothing)             2       0  0.5
             1  outlook = Sunny       7       1  0.34071
             1  humidity = Normal     5       3  0.806236
             2  (nothing)             7       1  0.34071
             2  humidity = Normal    14       5  0.483513
          U(1, 7) = 0.34071
          (1 - 0.34071)^7 + 7·0.34071·(1 - 0.34071)^6 = 0.25
          step 1: 0.34071 <= 0.5: outlook = Sunny is dropped
          step 2: 0.483513 > 0.34071: no condition is dropped
        """
        self._check_fitted()
        return simplification_account(self)

    def _limits(self) -> Iterable[tuple[str, float]]:
        """Return the thresholds of the rules."""
        for condition in (condition for rule in self.rules_ for condition in rule.conditions):
            yield from ((condition.attribute, x) for x in (condition.low, condition.high) if x is not None)

    def _counts_of(self, which: int) -> Floats:
        """Return the number of training rows of each class that a rule, or the default, decides."""
        default = self.rules_.default
        counts = self.rules_[which].counts if which < len(self.rules_) else () if default is None else default.counts
        if not sum(counts):
            raise OptionError("A rule without training rows has no interval and no portrait.")
        return np.asarray(counts, dtype=np.float64)

    _numbers_to_try = FeatureModel._numbers_to_try

    def _portrait(self, c: int) -> list[tuple[str, Any, str]]:
        """Return the conditions of the rule with the most training rows of the class."""
        counts = [(rule.counts or (0.0,) * len(self.classes_))[c] for rule in self.rules_]
        if not any(counts):
            raise OptionError(f"No rule covers a training row of class {self.classes_[c]!r}.")
        best = int(np.argmax(counts))
        total = sum(counts) + float((self.rules_.default.counts if self.rules_.default else (0.0,) * (c + 1))[c])
        return portrait_of(self.rules_[best].conditions, counts[best], total)

    def _posterior_draws(self, one: Frame, draws: int, rng: np.random.Generator) -> Floats:
        return dirichlet_draws(self._counts_of(int(self._deciding(self._table(one, 0, 1))[0])), draws, rng)

    def _scored(self, X: Any, *, proba: bool, reasons: int) -> Any:
        return executed(lambda: ruled(X, rules_as_terms(self), proba=proba, reasons=reasons))

    def to_sql(self, table: str, dialect: str = "duckdb", *, proba: bool = True) -> str:
        """Translate the rules to an SQL query that scores a table.

        Parameters
        ----------
        table : str
            Name of the table to score; dots separate the schema from the table.
        dialect : {'duckdb', 'postgres', 'spark', 'sqlite'}, default='duckdb'
            SQL dialect.
        proba : bool, default=True
            If True, the query also returns the class probabilities.

        Returns
        -------
        str
            The query.

        Raises
        ------
        OptionError
            If a rule tests words of a text column.

        Examples
        --------
        >>> from countwise import RuleClassifier, samples
        >>> tennis = samples.load("tennis")
        >>> print(RuleClassifier("one_r").fit(tennis.frame, "play").to_sql("days", "postgres", proba=False))
        WITH cw_cells AS (
          SELECT COALESCE(cw_row.*) AS cw_row,
            cw_row."outlook"::TEXT COLLATE "C" AS "cw outlook"
          FROM "days" AS cw_row
        )
        SELECT (cw_row).*,
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

    def coverage(self, X: Any) -> float:
        """Return the fraction of rows for which at least one rule holds.

        Parameters
        ----------
        X : table
            The rows.

        Returns
        -------
        float
            Between 0 and 1. The other rows get the default.

        Examples
        --------
        >>> from countwise import RuleClassifier, samples
        >>> tennis = samples.load("tennis")
        >>> RuleClassifier("one_r").fit(tennis.frame, "play").coverage(tennis.X)
        1.0
        """
        return float(np.mean(self.decides(X) < len(self.rules_)))

    # -- inspection ------------------------------------------------------------------

    def summary(self) -> str:
        """Summarize the model: the number of rows, attributes and rules, and the first rules.

        Returns
        -------
        str
            Text of a few lines.

        Examples
        --------
        >>> from countwise import RuleClassifier, samples
        >>> print(RuleClassifier("one_r").fit(samples.load("tennis").frame, "play").summary())
        14 rows, 4 attributes; play: 3 rules
          if outlook = Overcast then play = Yes  (4 rows, 100 %)
          if outlook = Rain then play = Yes  (5 rows, 60.0 %)
          if outlook = Sunny then play = No  (5 rows, 60.0 %)
        """
        self._check_fitted()
        head = f"{self._training_size}; {self.target_.name}: {len(self.rules_)} rules"
        every = str(self.rules_).split("\n")
        more = [f"  … and {len(every) - _SHOWN} more"] if len(every) > _SHOWN else []
        return printable("\n".join([head, *(f"  {line}" for line in every[:_SHOWN]), *more]))

    def tables(self) -> dict[str, Grid]:
        """Return the fitted model as tables.

        Returns
        -------
        dict of str to Grid
            ``"rules"``: the rules; with ``method="one_r"`` also ``"errors"``: the errors of each attribute.

        Examples
        --------
        >>> from countwise import RuleClassifier, samples
        >>> print(RuleClassifier("one_r").fit(samples.load("tennis").frame, "play").tables()["errors"])
        attribute    errors  accuracy
        outlook           4  0.714286
        temperature       5  0.642857
        humidity          4  0.714286
        wind              5  0.642857
        """
        self._check_fitted()
        return {"rules": self.rules_.table, **({"errors": self.errors_} if hasattr(self, "errors_") else {})}

    # -- model files -----------------------------------------------------------------

    def _state(self) -> dict[str, Any]:
        given = None
        if self.rules is not None:  # with a count for each class of this model, because loading checks that
            zeros = (0.0,) * len(self.target_.values)
            rules = tuple(replace(rule, counts=zeros) for rule in self.rules)
            given = _plain_rules(replace(self.rules, rules=rules, default=None))
        fitted = _plain_rules(replace(self.rules_, default=self.default_))
        return {"rules": fitted, "given": given, "simplified": [rule.to_list() for rule in self._simplification]}

    def _revive(self, state: Mapping[str, Any]) -> None:
        if self.rules is not None:
            raise ValueError("the settings of rules contain rules")
        self._check_settings()
        self._features = features_of(self.schema_)
        known = {f.name: f for f in self._features}
        every = RuleSet.from_dict(state["rules"], self.target_.values, known)
        if every.default is None:
            raise ValueError("the rules have no default")
        self.rules_, self.default_ = self._shown(every, every.default, known), every.default
        steps = state.get("simplified", [])
        if not isinstance(steps, list):
            raise ValueError("the simplified rules are no list")
        self._simplification = tuple(SimplifiedRule.from_list(one) for one in steps)
        if state.get("given") is not None:
            self.rules = RuleSet.from_dict(state["given"], self.target_.values, known)
        self._derive()


def _plain_rules(rules: RuleSet) -> dict[str, Any]:
    """Return rules as plain data, with the types of the values that they contain."""
    found = rules.to_dict()
    found["classes"] = [plain_value(c) for c in found["classes"]]
    for rule in (*found["rules"], *([] if found["default"] is None else [found["default"]])):
        rule["then"] = plain_value(rule["then"])
        for condition in rule["if"]:
            condition |= {
                name: [plain_value(v) for v in condition[name]] for name in condition.keys() & {"values", "but"}
            }
    return found


def _cover_of(data: MemoryTrainingSet) -> Cover:
    return Cover(data.features, data.columns, data.n_rows, data.y, data.weights, data.n_classes)


def one_rule(data: MemoryTrainingSet, cover: Cover, n: float) -> tuple[RuleSet, Grid]:
    """Return the OneR rules, one for each value or bin of the best attribute, and the errors of each attribute.

    Bins of numeric columns hold at least n rows of their majority class, and adjacent bins with the same majority
    class are merged. Missing values are treated as a separate value.
    """
    target = data.target
    assert isinstance(target, Nominal)  # noqa: S101 - rules predict classes
    best: list[Rule] | None = None
    errors = []
    for j in range(len(data.features)):
        rules = _value_rules(data, cover, j, target, n)
        wrong = sum(rule.support - max(rule.counts) for rule in rules)
        errors.append(wrong)
        if best is None or wrong < min(errors[:-1]) - 1e-9:
            best = rules
    total = float(data.own_weights.sum())
    names = [f.name for f in data.features]
    table = Grid({"attribute": names, "errors": errors, "accuracy": [1 - e / total for e in errors]})
    return RuleSet(target.name, target.values, tuple(best or ())), table


def _value_rules(data: MemoryTrainingSet, cover: Cover, j: int, target: Nominal, n: float) -> list[Rule]:
    feature, column = data.features[j], data.columns[j]
    if isinstance(feature.attribute, Nominal):
        values = feature.attribute.values
        found = [(Condition(feature.name, values=(v,)), column == code) for code, v in enumerate(values)]
        missing = column >= len(values)
    else:
        x = column.astype(np.float64)
        edges = min_n(values_by_class(x, data.y, data.n_classes, data.weights), n, "majority").edges
        missing = np.isnan(x)
        place = np.where(missing, -1, np.searchsorted(edges, x))
        found = [(range_condition(feature.name, edges, i), place == i) for i in range(len(edges) + 1)]
    found.append((Condition(feature.name, missing=True), missing))
    rules = []
    for condition, rows in found:
        counts = cover.counts(rows)
        if counts.sum() > 0:
            c = int(np.argmax(counts))
            confidence = float(counts[c] / counts.sum())
            rules.append(
                Rule((condition,), target.values[c], float(counts.sum()), confidence, tuple(counts.tolist()))
            )
    return rules
