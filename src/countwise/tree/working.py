"""The working of a tree's answer: the questions on the way down, what else could have been asked, and the leaf."""

from __future__ import annotations

from typing import Any

import numpy as np

from countwise.data.table import Table
from countwise.tree.apply import Landing, shares_of
from countwise.tree.conditions import condition_of, conditions_to
from countwise.tree.features import columns_of
from countwise.working import Account, Grid, Section
from countwise.working.numbers import number, percent

__all__ = ["TreeWorking"]

_MOST_NODES, _MOST_OFFERS, _MOST_LEAVES, _MOST_CLASSES = 20, 15, 20, 6
_WAYS = {"multiway": "each value", "one_vs_rest": "one against the rest", "subset": "two groups"}


class TreeWorking:
    """How one row came to its answer."""

    def __init__(self, model: Any, table: Table, landing: Landing) -> None:
        self.model, self.tree, self.features = model, model.tree_, model._features
        self.table, self.landing = table, landing
        self.shares = np.ones(len(landing.leaves)) if landing.shares is None else landing.shares
        self.passed = self.tree.passed(landing.leaves.tolist())
        self.target = model.target_.name
        self.criterion = model._criterion()

    def account(self) -> Account:
        """The answer, a section for each node on the way, and one for the leaves."""
        nodes = sorted(k for k in self.passed if self.tree.attribute[k] >= 0)
        notes = self._notes()
        if len(nodes) > _MOST_NODES:
            notes.append(f"{len(nodes) - _MOST_NODES} more nodes were passed, further down.")
        sections = [self._node(k) for k in nodes[:_MOST_NODES]]
        answer, value, posterior = self._answer()
        return Account(answer, value, (*sections, self._leaves()), tuple(notes), posterior)

    def _answer(self) -> tuple[str, float, dict[Any, float] | None]:
        if self.criterion.numbers:
            value = float(self.landing.blended(self.model._means)[0])
            return f"{self.target} = {number(value)}.", value, None
        p = self.landing.blended(self.model._probabilities)[0]
        best = int(np.argmax(p.round(12)))
        classes = self.model.classes_.tolist()
        alone = float(p[best]) == 1.0 and np.count_nonzero(p) == 1
        told = f"{self.target} = {classes[best]}, with probability {percent(float(p[best]), certain=alone)}."
        return told, float(p[best]), dict(zip(classes, p.tolist(), strict=True))

    def _notes(self) -> list[str]:
        notes = [
            f"The value of {a.name!r} was never seen in training, and is taken as missing."
            for a in self.model.schema_.attributes
            if hasattr(a, "unseen") and int(self.table[a.name][0]) == a.unseen
        ]
        ways = self.model.nominal == "subset" and not self.criterion.numbers and len(self.model.classes_) > 2
        if ways or (self.model.nominal == "subset" and self.criterion.word == "sd"):
            notes.append(
                "Two groups of more than eight values of a name are found by a heuristic; there may be better ones."
            )
        if self.model.thresholds == "binned":
            notes.append(
                f"Thresholds are edges of at most {int(self.model.max_bins)} bins, not any number between two rows."
            )
        return notes

    # -- nodes -----------------------------------------------------------------------

    def _node(self, k: int) -> Section:
        where = " and ".join(map(str, conditions_to(self.tree, self.features, k)))
        n = number(float(self.model._node_weights[k]))
        rows = f"{n} rows where {where}" if k else f"All {n} rows"
        return Section(f"{rows}: {self._inside(k)}", self._offers(k), (self._taken(k),))

    def _inside(self, k: int) -> str:
        """What is in a node, and how mixed it is."""
        cells = self.tree.cells[k]
        if self.criterion.numbers:
            sd = float(np.sqrt(cells[2] / cells[0])) if cells[0] > 0 else 0.0
            what = f"variance {number(sd * sd)}" if self.criterion.word == "variance" else f"SD {number(sd)}"
            return f"mean {number(float(cells[1]))}, {what}"
        word = "Gini" if self.criterion.word == "gini" else "entropy"
        return f"{self._counts(cells)}; {word} {number(float(self.criterion.impurity(cells)))}"

    def _counts(self, cells: Any) -> str:
        shown = self._shown()
        told = [f"{number(float(cells[c]))} {self.model.classes_[c]}" for c in shown]
        rest = len(cells) - len(shown)
        if rest:
            others = float(cells.sum() - cells[shown].sum())
            told.append(f"{number(others)} of {rest} others")
        return ", ".join(told)

    def _shown(self) -> list[int]:
        """The classes that are written out: the most probable ones, in their order."""
        p = self.landing.blended(self.model._probabilities)[0]
        return sorted(np.argsort(-p, kind="stable")[:_MOST_CLASSES].tolist())

    def _offers(self, k: int) -> Grid:
        """What every attribute would have gained."""
        gains, scores, cuts = self.tree.offers(k)
        chosen = int(self.tree.attribute[k])
        order = np.arange(len(gains))
        if len(order) > _MOST_OFFERS:
            best = np.argsort(-np.nan_to_num(scores, nan=-1.0), kind="stable")[:_MOST_OFFERS]
            order = np.unique(np.append(best, chosen))
        table: dict[str, list[Any]] = {
            "": ["▶" if j == chosen else "" for j in order],
            "attribute": [self.features[j].name for j in order],
            "split": [self._split(int(j), float(gains[j]), float(cuts[j])) for j in order],
            "gain": [float(gains[j]) for j in order],
        }
        if self.criterion.ratio:
            known = np.divide(gains, scores, out=np.full(len(gains), np.nan), where=scores > 0)
            table["split information"] = [float(known[j]) for j in order]
            table["gain ratio"] = [float(scores[j]) for j in order]
        return Grid(table)

    def _split(self, j: int, gain: float, cut: float) -> str:
        feature = self.features[j]
        if np.isnan(gain):
            return ""
        if self.model.numeric == "ranges" and (feature.ordinal or not feature.nominal):
            return "ranges"
        if not np.isnan(cut):
            return f"at {number(cut)}"
        if feature.ordinal:
            return "in order"
        return _WAYS[self.model.nominal]

    def _taken(self, k: int) -> str:
        """Which branch the row took, or branches."""
        below = [c for c in np.flatnonzero(self.tree.parent == k).tolist() if c in self.passed]
        feature = self.features[self.tree.attribute[k]]
        if len(below) == 1:
            condition = condition_of(self.tree, self.features, below[0])
            j = int(self.tree.attribute[k])
            column = columns_of(self.features, self.table, [j])[j]
            if condition.missing:
                return str(condition) if condition.holds(column, feature)[0] else f"{feature.name} is unknown here"
            if not condition.holds(column, feature)[0]:
                lost = "unknown here" if feature.nominal and column[0] < len(feature.attribute.values) else "missing"
                return f"{feature.name} is {lost}: the branch with most rows, {condition}"
            if feature.nominal:
                return str(condition)
            return f"{condition}: it is {number(float(column[0]))}"
        shares = shares_of(self.tree, self.model._node_weights)
        told = [f"{condition_of(self.tree, self.features, c).short} {number(float(shares[c]))}" for c in below]
        return f"{feature.name} is missing, so the row goes down every branch, in shares: {', '.join(told)}"

    # -- leaves ----------------------------------------------------------------------

    def _leaves(self) -> Section:
        order = np.argsort(-self.shares, kind="stable")[:_MOST_LEAVES]
        leaves = self.landing.leaves[order].tolist()
        several = len(self.landing.leaves) > 1
        table: dict[str, list[Any]] = {}
        if several:
            table["leaf"] = [" and ".join(map(str, conditions_to(self.tree, self.features, k))) for k in leaves]
            table["share"] = [float(s) for s in self.shares[order]]
        table["rows"] = [float(self.model._node_weights[k]) for k in leaves]
        lines: list[str] = []
        if self.criterion.numbers:
            table["mean"] = [float(self.model._means[k]) for k in leaves]
            total = number(float(self.landing.blended(self.model._means)[0]))
        else:
            shown = self._shown()
            names = [str(self.model.classes_[c]) for c in shown]
            table |= {
                name: [float(self.tree.cells[k][c]) for k in leaves] for c, name in zip(shown, names, strict=True)
            }
            p = self.model._probabilities
            table |= {f"P({name})": [float(p[k][c]) for k in leaves] for c, name in zip(shown, names, strict=True)}
            blend = self.landing.blended(p)[0]
            total = ", ".join(f"P({n}) = {number(float(blend[c]))}" for c, n in zip(shown, names, strict=True))
        if any(self.model._node_weights[k] <= 0 for k in leaves):
            lines.append("No training row came to a leaf without rows; it answers as its parent does.")
        if len(self.landing.leaves) > len(order):
            lines.append(f"and {len(self.landing.leaves) - len(order)} leaves with smaller shares")
        if several:
            lines.append(f"sum of the leaves' answers times their shares: {total}")
        if not self.criterion.numbers and self.model._smoothing_words():
            lines.append(f"P is smoothed: {self.model._smoothing_words()}")
        return Section("Leaves" if several else "Leaf", Grid(table), tuple(lines))
