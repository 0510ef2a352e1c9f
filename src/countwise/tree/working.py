"""Text drawings of trees, and the working of a prediction by a tree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from countwise.data.table import Table
from countwise.distributions import smoothing_of
from countwise.tree.conditions import condition_of, conditions_to, written_limit
from countwise.tree.features import Feature, columns_of
from countwise.tree.growth.criteria import Criterion
from countwise.tree.nodes import Landing, Tree, first_best
from countwise.working import Account, Grid, Section
from countwise.working.numbers import cell, number, percent

__all__ = ["TreeWorking", "drawn"]

_MOST_NODES, _MOST_CANDIDATES, _MOST_LEAVES, _MOST_CLASSES = 20, 15, 20, 6
_MOST_INDENTATION = 10_000_000  # characters of indentation in a drawing, over all lines
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


class TreeWorking:
    """Working of the prediction of one row."""

    def __init__(self, model: Any, table: Table, landing: Landing) -> None:
        self.model, self.tree, self.features = model, model.tree_, model._features
        self.table, self.landing = table, landing
        self.fractions = np.ones(len(landing.leaves)) if landing.fractions is None else landing.fractions
        self.passed = self.tree.passed(landing.leaves.tolist())
        self.target = model.target_.name
        self.criterion = Criterion(model.criterion)

    def account(self) -> Account:
        """Return the prediction, a section for each node on the path, and one for the leaves."""
        nodes = sorted(k for k in self.passed if self.tree.attribute[k] >= 0)
        notes = self._notes()
        if len(nodes) > _MOST_NODES:
            notes.append(f"The row passes {len(nodes) - _MOST_NODES} more nodes further down, which are not shown.")
        sections = [self._node(k) for k in nodes[:_MOST_NODES]]
        title, value, posterior = self._prediction()
        return Account(title, value, (*sections, self._leaves()), tuple(notes), posterior)

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
        many_classes = not self.criterion.numeric and len(self.model.classes_) > 2
        if self.model.nominal == "subset" and (many_classes or self.criterion.name == "sd"):
            which = "values" if self.criterion.numeric else "more than eight values"
            notes.append(f"Splits of {which} into two groups use a heuristic; better ones may exist.")
        if self.model.thresholds == "binned":
            most = int(self.model.max_bins)
            notes.append(f"Thresholds are the cut points between at most {most} bins; no others were tried.")
        return notes

    # -- nodes -----------------------------------------------------------------------

    def _node(self, k: int) -> Section:
        where = " and ".join(map(str, conditions_to(self.tree, self.features, k)))
        n = number(float(self.model._node_weights[k]))
        rows = f"{n} rows where {where}" if k else f"All {n} rows"
        return Section(f"{rows}: {self._contents(k)}", self._candidates(k), (self._branch_taken(k),))

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
        """Return the codes of the classes that are shown: the most probable ones."""
        p = self.landing.blended(self.model._probabilities)[0]
        return sorted(np.argsort(-p, kind="stable")[:_MOST_CLASSES].tolist())

    def _candidates(self, k: int) -> Grid:
        """Return the table of candidate splits with their gains."""
        gains, scores, cuts = self.tree.candidates(k)
        chosen = int(self.tree.attribute[k])
        order = np.arange(len(gains))
        if len(order) > _MOST_CANDIDATES:
            best = np.argsort(-np.nan_to_num(scores, nan=-1.0), kind="stable")[:_MOST_CANDIDATES]
            order = np.unique(np.append(best, chosen))
        table: dict[str, list[Any]] = {
            "": ["▶" if j == chosen else "" for j in order],
            "attribute": [self.features[j].name for j in order],
            "split": [self._split(int(j), float(gains[j]), float(cuts[j])) for j in order],
            "gain": gains[order].tolist(),
        }
        if self.criterion.ratio:
            with np.errstate(over="ignore"):
                known = np.divide(gains, scores, out=np.full(len(gains), np.nan), where=scores > 0)
            table |= {"split information": known[order].tolist(), "gain ratio": scores[order].tolist()}
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
