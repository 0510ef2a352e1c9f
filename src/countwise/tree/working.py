"""Text drawings of trees, and the working of a prediction by a tree."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from countwise.base.model import row_numbers_section
from countwise.data.table import Table
from countwise.distributions import smoothing_of
from countwise.errors import OptionError
from countwise.measures import (
    entropy,
    entropy_formula,
    gain_formula,
    gain_ratio_formula,
    gini_formula,
    mean_formula,
    sd_reduction_formula,
)
from countwise.sources import Memory
from countwise.tree.conditions import condition_of, conditions_to, written_limit
from countwise.tree.features import Feature, columns_of
from countwise.tree.growth.criteria import Criterion
from countwise.tree.growth.settings import growth_settings
from countwise.tree.nodes import Landing, Tree, first_best
from countwise.tree.pruning import MOST_STEPS, PruningStep, upper_error
from countwise.tree.rules import SimplifiedRule
from countwise.working import Account, Formula, Grid, Section
from countwise.working.numbers import cell, number, percent

__all__ = [
    "SplitWorking",
    "TreeWorking",
    "drawn",
    "pruning_account",
    "pruning_table",
    "simplification_account",
    "upper_limit_formulas",
]

_MOST_NODES, _MOST_CANDIDATES, _MOST_LEAVES, _MOST_CLASSES = 20, 15, 20, 6
_MOST_ERRORS = 3  # errors up to which the binomial sum of an upper limit is written out
_MOST_INDENTATION = 10_000_000  # characters of indentation in a drawing, over all lines
_REDUCTIONS = {"sd": "SD reduction", "variance": "variance reduction"}
_STRATEGIES = {"multiway": "each value", "one_vs_rest": "one against the rest", "subset": "two groups"}


def drawn(
    tree: Tree,
    features: Sequence[Feature],
    leaf_text: Callable[[int], str],
    max_depth: int | None = None,
    marked: frozenset[int] = frozenset(),
) -> str:
    """Draw a tree as text, with marks on some nodes.

    By default the whole tree is drawn, unless it is so deep that the indentation would fill the memory.
    """
    max_depth = _drawable_depth(tree) if max_depth is None else max_depth
    lines: list[str] = []
    # node, start of its line, start of the lines below it, depth
    waiting: list[tuple[int, str, str, int]] = [(0, "", "", 0)]
    while waiting:
        k, before, below, depth = waiting.pop()
        label = f"{condition_of(tree, features, k).short}: " if k else ""
        leaf = tree.attribute[k] < 0
        cut = not leaf and max_depth is not None and depth >= max_depth
        text = leaf_text(k) if leaf or cut else f"{features[tree.attribute[k]].name}?"
        more = " …" if cut else ""
        end = "  ◀" if k in marked and (leaf or cut) else ""
        shown = "".join(c if c.isprintable() else " " for c in label + text)
        lines.append(f"{before}{shown}{more}{end}")
        if leaf or cut:
            continue
        children = tree.children_of(k)
        for child in reversed(children):  # a stack: the last one pushed is drawn first
            path, last = "━" if child in marked else "─", child == children[-1]
            ahead, under = (f"└{path} ", "   ") if last else (f"├{path} ", "│  ")
            waiting.append((child, below + ahead, below + under, depth + 1))
    return "\n".join(lines)


def _drawable_depth(tree: Tree) -> int | None:
    """Return the depth to which a tree is drawn by default; None for the whole tree."""
    nodes = np.bincount(tree.depths)
    characters = np.cumsum(3 * np.arange(len(nodes)) * nodes)
    if characters[-1] <= _MOST_INDENTATION:
        return None
    return int(np.searchsorted(characters, _MOST_INDENTATION, side="right")) - 1


class SplitWorking:
    """Working of the splits of a tree: the candidates of each node, with their gains written out."""

    def __init__(self, model: Any) -> None:
        self.model, self.tree, self.features = model, model.tree_, model._features
        self.target = model.target_.name
        self.criterion = Criterion(model.criterion)

    def account(self, max_depth: int | None) -> Account:
        """Return a section for each inner node, breadth first."""
        inner = np.flatnonzero(self.tree.attribute >= 0)
        nodes = inner[:_MOST_NODES] if max_depth is None else inner[self.tree.depths[inner] < max_depth]
        rest = len(inner) - len(nodes)
        notes = (f"{rest} more splits further down are not shown.",) if rest else ()
        answer = f"{self.target}: {len(inner)} split{'s' * (len(inner) != 1)} by {self._score()}"
        sections = tuple(self.section(k, ()) for k in nodes.tolist())
        return Account(answer, float(len(inner)), sections, (*notes, *self._remarks()))

    def _score(self) -> str:
        scores = {"gain": "information gain", "gain_ratio": "gain ratio", "gini": "decrease in Gini impurity"}
        return scores.get(self.criterion.name) or _REDUCTIONS[self.criterion.name]

    def _remarks(self) -> list[str]:
        """Return what is special about the search of splits."""
        notes = []
        many_classes = not self.criterion.numeric and len(self.model.classes_) > 2
        if self.model.nominal == "subset" and (many_classes or self.criterion.name == "sd"):
            which = "values" if self.criterion.numeric else "more than eight values"
            notes.append(f"Splits of {which} into two groups use a heuristic; better ones may exist.")
        if self.model.thresholds == "binned":
            most = int(self.model.max_bins)
            notes.append(f"Thresholds are the cut points between at most {most} bins; no others were tried.")
        return notes

    def section(self, k: int, more: tuple[str, ...]) -> Section:
        """Return the rows of a node, the candidate splits, their gains written out, and more lines."""
        where = " and ".join(map(str, conditions_to(self.tree, self.features, k)))
        n = number(float(self.model._node_weights[k]))
        rows = f"{n} rows where {where}" if k else f"All {n} rows"
        order = self._compared(k)
        lines = (self._impurity(k), *self._formulas(k, order), *more)
        return Section(f"{rows}: {self._contents(k)}", self._candidates(k, order), lines)

    def _impurity(self, k: int) -> Formula:
        """Return the impurity of a node written out."""
        cells = self.tree.cells[k]
        if not self.criterion.numeric:
            return gini_formula(cells, "Gini") if self.criterion.name == "gini" else entropy_formula(cells, "entropy")
        value = float(self.criterion.at_nodes(cells[None])[0])
        quotient = f"{number(float(cells[2]))}/{number(float(cells[0]))}"
        if self.criterion.name == "variance":
            return Formula(f"variance = {quotient} = {number(value)}")
        return Formula(f"SD = sqrt({quotient}) = {number(value)}")

    def _formulas(self, k: int, order: Sequence[int]) -> list[Formula]:
        """Return the gain of each candidate written out; with the gain ratio, also the split information."""
        gains, found = self.tree.candidates(k).gains, []
        for j in order:
            branches = self.tree.branches_of(k, j)
            if branches is not None:
                found += self._written(self.features[j].name, branches, float(self.model._node_weights[k]), gains[j])
        if found and self.criterion.ratio:
            found.append(self._average(gains))
        return found

    def _written(self, name: str, branches: Any, n: float, gain: float) -> list[Formula]:
        """Return the gain of one candidate written out, given the cells of its branches."""
        numeric = self.criterion.numeric
        weights = branches[:, 0] if numeric else branches.sum(axis=1)
        missing = n - float(weights.sum())
        missing = missing if missing > 1e-9 * n else 0.0
        if numeric:
            what = _REDUCTIONS[self.criterion.name]
            variance = self.criterion.name == "variance"
            moments = branches[:, 0], branches[:, 1], branches[:, 2]
            return [sd_reduction_formula(*moments, f"{what}({name})", variance=variance, missing=missing)]
        if self.criterion.name == "gini":
            return [gain_formula(branches, f"gain({name})", "gini", missing)]
        known = float(self.criterion.gain(branches)) * float(weights.sum()) / n
        tried = round(2 ** min((known - gain) * n, 60)) if self.model.threshold_cost else 0
        found = [gain_formula(branches, f"gain({name})", missing=missing, tried=tried)]
        if self.criterion.ratio:
            sides = np.append(weights, missing)
            found.append(entropy_formula(sides, f"split information({name})"))
            found.append(gain_ratio_formula(float(gain), float(entropy(sides)), f"gain ratio({name})"))
        return found

    def _average(self, gains: Any) -> Formula:
        """Return the average gain written out; only splits with at least this gain are compared (C4.5)."""
        many = growth_settings(self.model).many_valued(self.features, float(self.model._node_weights[0]))
        possible = ~np.isnan(gains)
        counted = possible & ~many if (possible & ~many).any() else possible
        return mean_formula(gains[counted], "average gain")

    def _contents(self, k: int) -> str:
        """Return the class counts (or mean) of a node and its impurity."""
        cells = self.tree.cells[k]
        if self.criterion.numeric:
            sd = float(np.sqrt(cells[2] / cells[0])) if cells[0] > 0 else 0.0
            what = f"variance {number(sd * sd)}" if self.criterion.name == "variance" else f"SD {number(sd)}"
            return f"mean {number(float(cells[1]))}, {what}"
        measure = "Gini" if self.criterion.name == "gini" else "entropy"
        return f"{self._counts(cells)}; {measure} {number(float(self.criterion.impurity(cells)))}"

    def _counts(self, cells: Any) -> str:
        shown = self._shown()
        counts = [f"{number(float(cells[c]))} {self.model.classes_[c]}" for c in shown]
        rest = len(cells) - len(shown)
        if rest:
            others = float(cells.sum() - cells[shown].sum())
            counts.append(f"{number(others)} of {rest} other classes")
        return ", ".join(counts)

    def _shown(self) -> list[int]:
        """Return the codes of the classes that are shown: the most frequent ones."""
        return _highest(self.tree.cells[0])

    def _compared(self, k: int) -> list[int]:
        """Return the attributes whose candidate splits are shown: all, or those with the highest scores."""
        scores, chosen = self.tree.candidates(k).scores, int(self.tree.attribute[k])
        if len(scores) <= _MOST_CANDIDATES:
            return list(range(len(scores)))
        best = np.argsort(-np.nan_to_num(scores, nan=-1.0), kind="stable")[:_MOST_CANDIDATES]
        return [int(j) for j in np.unique(np.append(best, chosen))]

    def _candidates(self, k: int, order: Sequence[int]) -> Grid:
        """Return the table of candidate splits with their gains."""
        gains, scores, cuts = self.tree.candidates(k)
        chosen = int(self.tree.attribute[k])
        table: dict[str, list[Any]] = {
            "": ["▶" if j == chosen else "" for j in order],
            "attribute": [self.features[j].name for j in order],
            "split": [self._split(int(j), float(gains[j]), float(cuts[j])) for j in order],
            "gain": gains[list(order)].tolist(),
        }
        if self.criterion.ratio:
            with np.errstate(over="ignore"):
                known = np.divide(gains, scores, out=np.full(len(gains), np.nan), where=scores > 0)
            table |= {"split information": known[list(order)].tolist(), "gain ratio": scores[list(order)].tolist()}
        return Grid(table)

    def _split(self, j: int, gain: float, cut: float) -> str:
        feature = self.features[j]
        if np.isnan(gain):
            return ""
        if self.model.numeric == "ranges" and (feature.ordinal or not feature.nominal):
            return "ranges"
        if not np.isnan(cut):
            return f"at {written_limit(cut)}"
        if feature.ordinal:
            return "in order"
        return _STRATEGIES[self.model.nominal]


def _highest(p: Any) -> list[int]:
    return sorted(np.argsort(-p, kind="stable")[:_MOST_CLASSES].tolist())


class TreeWorking(SplitWorking):
    """Working of the prediction of one row."""

    def __init__(self, model: Any, table: Table, landing: Landing) -> None:
        super().__init__(model)
        self.table, self.landing = table, landing
        self.fractions = np.ones(len(landing.leaves)) if landing.fractions is None else landing.fractions
        self.passed = self.tree.passed(landing.leaves.tolist())

    def prediction(self, rows: Memory | None = None, landing: Landing | None = None) -> Account:
        """Return the prediction, a section for each node on the path, and one for the leaves.

        With the training rows and the leaves that they reach, another section has the numbers of these rows.
        """
        nodes = sorted(k for k in self.passed if self.tree.attribute[k] >= 0)
        notes = self._notes()
        if len(nodes) > _MOST_NODES:
            notes.append(f"The row passes {len(nodes) - _MOST_NODES} more nodes further down, which are not shown.")
        sections = [self.section(k, (self._branch_taken(k),)) for k in nodes[:_MOST_NODES]]
        title, value, posterior = self._prediction()
        sections.append(self._leaves())
        if rows is not None and landing is not None:
            sections.append(self._training_rows(rows, landing))
        return Account(title, value, tuple(sections), tuple(notes), posterior)

    def _training_rows(self, rows: Memory, landing: Landing) -> Section:
        """Return the numbers of the training rows in each leaf that the row reaches, by class."""
        order = np.argsort(-self.fractions, kind="stable")[:_MOST_LEAVES]
        found, several = [], len(self.landing.leaves) > 1
        for k in self.landing.leaves[order].tolist():
            inside = np.zeros(rows.n_rows, dtype=bool)
            at = landing.leaves == k
            inside[at if landing.rows is None else landing.rows[at]] = True
            where = " and ".join(map(str, conditions_to(self.tree, self.features, k))) if several else "the leaf"
            if self.criterion.numeric:
                found.append((where, inside))
                continue
            codes = self.model.target_.encode(rows.target, strict=True)
            name, classes = self.target, self.model.classes_
            found += [(f"{where}, {name} = {classes[c]}", inside & (codes == c)) for c in self._shown()]
        divided = ("A training row with missing values is in several leaves.",) if landing.rows is not None else ()
        return row_numbers_section(found, rows, *divided)

    def _prediction(self) -> tuple[str, float, dict[Any, float] | None]:
        if self.criterion.numeric:
            value = float(self.landing.blended(self.model._means)[0])
            return f"{self.target} = {number(value)}.", value, None
        proba = self.model._blended(self.landing)
        p, best = proba[0], int(first_best(proba)[0])
        classes = self.model.classes_.tolist()
        certain = float(p[best]) == 1.0 and np.count_nonzero(p) == 1
        title = f"{self.target} = {classes[best]} with probability {percent(float(p[best]), certain=certain)}."
        return title, float(p[best]), dict(zip(classes, p.tolist(), strict=True))

    def _notes(self) -> list[str]:
        notes = [
            f"The value of {a.name!r} was never seen in training and is treated as missing."
            for a in self.model.schema_.attributes
            if hasattr(a, "unseen") and int(self.table[a.name][0]) == a.unseen
        ]
        return [*notes, *self._remarks()]

    # -- nodes -----------------------------------------------------------------------

    def _shown(self) -> list[int]:
        """Return the codes of the classes that are shown: the most probable ones."""
        return _highest(self.landing.blended(self.model._probabilities)[0])

    def _branch_taken(self, k: int) -> str:
        """Return the branch or branches that the row takes."""
        below = [c for c in self.tree.children_of(k) if c in self.passed]
        j = int(self.tree.attribute[k])
        feature = self.features[j]
        if len(below) == 1:
            condition = condition_of(self.tree, self.features, below[0])
            column = columns_of(self.features, self.table, [j])[j]
            if condition.missing:
                if condition.holds(column, feature)[0]:
                    return str(condition)
                return f"{feature.name} has a value not seen at this node: the branch of missing values"
            if not condition.holds(column, feature)[0]:
                unseen = feature.nominal and column[0] < len(feature.attribute.values)
                why = "has a value not seen at this node" if unseen else "is missing"
                return f"{feature.name} {why}: the branch with the most rows, {condition}"
            if feature.nominal:
                return str(condition)
            return f"{condition}: the value is {cell(float(column[0]))}"
        fractions = self.tree.fractions(self.model._node_weights)
        parts = [f"{condition_of(self.tree, self.features, c).short} {number(float(fractions[c]))}" for c in below]
        return f"{feature.name} is missing, so the row goes down every branch, in fractions: {', '.join(parts)}"

    # -- leaves ----------------------------------------------------------------------

    def _leaves(self) -> Section:
        order = np.argsort(-self.fractions, kind="stable")[:_MOST_LEAVES]
        leaves = self.landing.leaves[order].tolist()
        several = len(self.landing.leaves) > 1
        table: dict[str, list[Any]] = {}
        if several:
            table["leaf"] = [" and ".join(map(str, conditions_to(self.tree, self.features, k))) for k in leaves]
            table["fraction"] = self.fractions[order].tolist()
        table["rows"] = self.model._node_weights[leaves].tolist()
        lines: list[str] = []
        if self.criterion.numeric:
            table["mean"] = self.model._means[leaves].tolist()
            total = number(float(self.landing.blended(self.model._means)[0]))
        else:
            shown = self._shown()
            names = {c: str(self.model.classes_[c]) for c in shown}
            table |= {name: self.tree.cells[leaves, c].tolist() for c, name in names.items()}
            p = self.model._probabilities
            table |= {f"P({name})": p[leaves, c].tolist() for c, name in names.items()}
            blend = self.landing.blended(p)[0]
            total = ", ".join(f"P({name}) = {number(float(blend[c]))}" for c, name in names.items())
        if (self.model._node_weights[leaves] <= 0).any():
            lines.append("A leaf that no training row reached predicts as its parent does.")
        if len(self.landing.leaves) > len(order):
            lines.append(f"and {len(self.landing.leaves) - len(order)} leaves with smaller fractions")
        if several:
            lines.append(f"average of the leaves' predictions, weighted by fraction: {total}")
        smoothed = "unsmoothed" if self.criterion.numeric else str(smoothing_of(self.model.smoothing))
        if smoothed != "unsmoothed":
            lines.append(f"P is smoothed: {smoothed}")
        return Section("Leaves" if several else "Leaf", Grid(table), tuple(lines))


# -- pruning -------------------------------------------------------------------------


def pruning_table(model: Any) -> Grid:
    """Return the decisions of the pruning of a tree, in the order in which they were made."""
    steps: Sequence[PruningStep] = model._pruning_steps
    table: dict[str, list[Any]] = {"step": list(range(1, len(steps) + 1)), "subtree": [s.branch for s in steps]}
    table |= {"rows": [s.rows for s in steps]}
    if model.pruning == "cost_complexity":
        table |= {"leaves": [s.leaves for s in steps], "alpha": [s.alpha for s in steps]}
    elif model.pruning == "pessimistic":
        table |= {"errors": [s.errors for s in steps], "as a leaf": [s.leaf for s in steps]}
        table |= {"by its branches": [s.subtree for s in steps]}
    else:
        what = "squared errors" if model._numbers else "errors"
        table |= {f"{what} as a leaf": [s.leaf for s in steps], "by its branches": [s.subtree for s in steps]}
    return Grid(table | {"decision": [_decision(s) for s in steps]})


def _decision(step: PruningStep) -> str:
    return "pruned" if step.pruned else "kept"


def pruning_account(model: Any) -> Account:
    """Return the report of the pruning of a tree: all decisions, and the computation of those near the root."""
    steps: Sequence[PruningStep] | None = model._pruning_steps
    if model.pruning is None:
        raise OptionError("The tree was not pruned.", hint="set pruning='pessimistic' and call fit again.")
    if steps is None:
        raise OptionError("The model file has no record of the pruning.", hint="fit the model again.")
    n_pruned = sum(step.pruned for step in steps)
    method = {
        "pessimistic": f"pessimistic pruning with CF = {number(float(getattr(model, 'confidence', 0)))}",
        "reduced_error": "reduced-error pruning",
        "cost_complexity": f"cost-complexity pruning with alpha = {number(float(getattr(model, 'alpha_', 0)))}",
    }[model.pruning]
    answer = f"{model.target_.name}: {method} replaces {n_pruned} of {len(steps)} subtrees by a leaf"
    if not steps:
        return Account(answer, 0.0, (), ("The tree is a single leaf.",))
    notes, sections = [_MEANING[model.pruning]], [Section("Subtrees, from the bottom up", pruning_table(model))]
    shown = steps[-_MOST_NODES:]
    if len(steps) == MOST_STEPS:
        notes.append(f"Only the {MOST_STEPS} subtrees nearest to the root are recorded.")
    if len(shown) < len(steps):
        notes.append(f"{len(steps) - len(shown)} computations further down are not shown.")
    if model.pruning == "cost_complexity":
        lines = tuple(line for i, step in enumerate(shown, len(steps) - len(shown) + 1) for line in _link(i, step))
        sections += [Section("The weakest link of each step", Grid({}), lines), Section("Trees", model.path_)]
    else:
        written: set[tuple[float, float]] = set()
        first = len(steps) - len(shown) + 1
        sections += [_comparison(i, step, model, written) for i, step in enumerate(shown, first)]
    return Account(answer, float(n_pruned), tuple(sections), tuple(notes))


_MEANING = {
    "pessimistic": "U(e, n) is the error rate at which at most e errors in n rows have probability CF, the quantile "
    "1 - CF of Beta(e + 1, n - e). A subtree is pruned if n·U(e, n) of the leaf is at most the sum of its branches.",
    "reduced_error": "Rows and errors are those of the held-out rows. A subtree is pruned if the leaf does not have "
    "more errors than its branches.",
    "cost_complexity": "R(t) is the impurity of a node as a leaf times its fraction of the rows, R(T) the sum of R "
    "over the leaves of its subtree T. A subtree is pruned if its alpha = (R(t) - R(T))/(leaves - 1) is at most the "
    "alpha used.",
}


def _link(i: int, step: PruningStep) -> tuple[str, Formula]:
    leaf, subtree = number(step.leaf), number(step.subtree)
    formula = f"alpha = ({leaf} - {subtree})/({step.leaves} - 1) = {number(step.alpha)}"
    return f"{i}. {step.node}: {_decision(step)}", Formula(formula)


def _comparison(i: int, step: PruningStep, model: Any, written: set[tuple[float, float]]) -> Section:
    """Return the branches of a subtree, and the estimates of the errors that decide about it."""
    pessimistic, every = model.pruning == "pessimistic", step.branches
    what = "squared errors" if model._numbers else "errors"
    table: dict[str, list[Any]] = {
        "branch": [part.condition for part in every],
        "leaves": [part.leaves for part in every],
        "rows": [part.rows for part in every],
        what: [part.errors for part in every],
    }
    lines: list[str] = []
    if pessimistic:
        table["estimate"] = [part.estimate for part in every]
        pairs = [(step.errors, step.rows), *((p.errors, p.rows) for p in every if p.leaves == 1 and p.rows > 0)]
        for errors, rows in dict.fromkeys(pairs):
            if (errors, rows) not in written:
                written.add((errors, rows))
                lines += upper_limit_formulas(errors, rows, float(model.confidence))
        lines.append(Formula(f"leaf = {_limit(step.errors, step.rows)} = {number(step.leaf)}"))
        known = [part for part in every if part.rows > 0]
        terms = [_limit(p.errors, p.rows) if p.leaves == 1 else number(p.estimate) for p in known]
        sums = " + ".join(number(part.estimate) for part in known)
        total = [" + ".join(terms), sums, number(step.subtree)]
        lines.append(Formula(" = ".join(["branches", *dict.fromkeys(total)])))
    sign = "<=" if step.pruned else ">"
    lines.append(f"{number(step.leaf)} {sign} {number(step.subtree)}: {_decision(step)}")
    texts = (f"{number(x)} {word}" for x, word in ((step.rows, "rows"), (step.errors, what)))
    many = [text.removesuffix("s") if text.startswith("1 ") else text for text in texts]
    return Section(f"{i}. {step.node}: {', '.join(many)} as a leaf", Grid(table), tuple(lines))


def _limit(errors: float, rows: float) -> str:
    return f"{number(rows)}·U({number(errors)}, {number(rows)})"


def upper_limit_formulas(errors: float, rows: float, confidence: float) -> list[Formula]:
    """Return the upper limit of an error rate, and the probability that it has by definition, written out."""
    limit = float(upper_error(np.array([errors]), np.array([rows]), confidence)[0]) / rows
    name, cf, u = f"U({number(errors)}, {number(rows)})", number(confidence), number(limit)
    if errors <= 0:
        return [Formula(f"{name} = 1 - {cf}^(1/{number(rows)}) = {u}")]
    if errors >= rows or errors != int(errors) or rows != int(rows) or errors > _MOST_ERRORS:
        return [Formula(f"{name} = {u}")]
    n = int(rows)
    terms = [f"(1 - {u})^{n}"]
    for k in range(1, int(errors) + 1):
        power = "" if k == 1 else f"^{k}"
        rest = "" if n - k == 0 else f"·(1 - {u})" if n - k == 1 else f"·(1 - {u})^{n - k}"
        terms.append(f"{math.comb(n, k)}·{u}{power}{rest}")
    return [Formula(f"{name} = {u}"), Formula(f"{' + '.join(terms)} = {cf}")]


# -- simplification of rules ---------------------------------------------------------


def simplification_account(model: Any) -> Account:
    """Return the report of the conditions that were dropped from the rules of a tree."""
    rules: Sequence[SimplifiedRule] = model._simplification
    if not rules:
        raise OptionError(
            "No conditions of these rules were dropped.",
            hint="use method='c45' with simplify='pessimistic' or 'held_out', and call fit again.",
        )
    pessimistic = model.simplify == "pessimistic"
    n_dropped = sum(step.dropped >= 0 for rule in rules for step in rule.steps)
    are = "condition is" if n_dropped == 1 else "conditions are"
    answer = f"{model.target_.name}: {n_dropped} {are} dropped from {len(rules)} rules of the tree"
    remains = ["the same as an earlier rule" if rule.repeats else rule.after for rule in rules]
    overview = Section("Rules", Grid({"rule of the tree": [rule.before for rule in rules], "simplified": remains}))
    changed = [rule for rule in rules if rule.steps][:_MOST_NODES]
    written: set[tuple[float, float]] = set()
    sections = [_dropping(rule, float(model.confidence) if pessimistic else None, written) for rule in changed]
    what = "the upper limit U(errors, rows) of its error rate" if pessimistic else "its error rate on held-out rows"
    first = (
        f"From each rule, the condition is dropped without which {what} is lowest, as long as it does not increase."
    )
    notes = [f"{first} The remaining rules are then ordered by their upper limits, with a default rule behind them."]
    if len(changed) < len(rules):
        notes.append(f"The steps of {len(rules) - len(changed)} more rules are not shown.")
    return Account(answer, float(n_dropped), (overview, *sections), tuple(notes))


def _dropping(rule: SimplifiedRule, confidence: float | None, written: set[tuple[float, float]]) -> Section:
    """Return the error rates of a rule without each of its conditions, step by step."""
    rate = "error rate" if confidence is None else "U"
    table: dict[str, list[Any]] = {"step": [], "without": [], "rows": [], "errors": [], rate: []}
    lines: list[str] = []
    for i, step in enumerate(rule.steps, 1):
        parts = [("(nothing)", step.rows, step.errors, step.rate), *step.without]
        for without, *numbers in parts:
            for name, value in zip(table, (i, without, *numbers), strict=True):
                table[name].append(value)
        for _, rows, errors, _ in parts if confidence is not None else ():
            if rows > 0 and (errors, rows) not in written:
                written.add((errors, rows))
                lines += upper_limit_formulas(errors, rows, confidence or 0.0)
    for i, step in enumerate(rule.steps, 1):
        best = min(step.without, key=lambda part: part[3])
        if step.dropped >= 0:
            condition, *_, value = step.without[step.dropped]
            lines.append(f"step {i}: {number(value)} <= {number(step.rate)}: {condition} is dropped")
        else:
            lines.append(f"step {i}: {number(best[3])} > {number(step.rate)}: no condition is dropped")
    return Section(rule.before, Grid(table), tuple(lines))
