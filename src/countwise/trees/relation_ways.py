"""The ways from the root to nodes, as expressions that an engine evaluates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from countwise._typing import Indices
from countwise.attributes import Nominal
from countwise.trees.features import Feature
from countwise.trees.paths import shares_of
from countwise.trees.tree import Tree

__all__ = ["PARTED", "Ways"]

NOWHERE, PARTED = -1, -2  # where rows are that come to none of the nodes, and those that come to several


class Ways:
    """The ways to some nodes of one depth.

    Parameters
    ----------
    tree : Tree
        The tree so far.
    features : sequence of Feature
        What it asks.
    gaps : dict of int to bool
        Of each attribute that may be asked, whether some cells are missing.
    nodes : ndarray
        Where to, ascending.
    fractions : bool
        Whether rows that lack a value go down all branches.
    numbers : bool
        Whether a number is told.
    """

    def __init__(
        self,
        tree: Tree,
        features: Sequence[Feature],
        gaps: dict[int, bool],
        nodes: Indices,
        fractions: bool,
        numbers: bool,
    ) -> None:
        self.tree, self.features, self.gaps, self.nodes = tree, features, gaps, nodes
        self.depth = int(tree.depths[nodes[0]])
        self.passed = tree.passed(nodes.tolist())
        self.inner = [k for k in sorted(self.passed) if tree.depths[k] < self.depth]
        self.columns = list(dict.fromkeys(features[tree.attribute[k]].column for k in self.inner))
        self.leaky = {k for k in self.inner if fractions and gaps[int(tree.attribute[k])]}
        # the places of nodes to which rows may come in part, and which share of its parent's rows each node has
        self.shared = np.array([i for i, k in enumerate(nodes.tolist()) if self.leaky & set(tree.path(k))], np.int64)
        self.shares = shares_of(tree, tree.weights(numbers)) if self.leaky else np.empty(0)

    def located(self, plan: Any) -> Any:
        """The plan with the node of each row, `cw_at`: one when in another, as the tree is.

        A column for each level would be shorter, but engines that move filters towards the rows write it out again
        wherever it is named.
        """
        return plan.with_columns(cw_at=self._at(0))

    def shared_out(self, plan: Any, nodes: Indices) -> Any:
        """The plan with what of each row's weight comes to some nodes, `cw_p` and the node's number."""
        import narwhals.stable.v2 as nw

        passed, depths = self.tree.passed(nodes.tolist()), self.tree.depths
        plan = plan.with_columns(cw_p0=nw.col("cw_w"))
        for depth in range(1, self.depth + 1):
            plan = plan.with_columns(**{f"cw_p{k}": self._share(k) for k in sorted(passed) if depths[k] == depth})
        return plan

    def _at(self, k: int) -> Any:
        """Which of the nodes a row comes to that is at a node."""
        import narwhals.stable.v2 as nw

        if k not in self.passed or self.tree.depths[k] == self.depth:
            return nw.lit(k if k in self.passed else NOWHERE)
        first, lost = int(self.tree.children[k]), int(self.tree.missing[k])
        x, limits = self._column(k), self.tree.limits_of(k)
        if len(limits):
            low, high = self._at(first), self._at(first + 1)
            if lost == 0:  # a comparison with what is missing does not hold
                inside = nw.when(x > float(limits[0])).then(high).otherwise(low)
            else:
                inside = nw.when(x <= float(limits[0])).then(low).otherwise(high)
        else:
            branches = sorted(self._branches(k).items(), key=lambda branch: branch[0] == lost)
            inside = _chosen(x, [(values, self._at(first + b)) for b, values in branches])
        placed = self._placed(k)
        own = lost >= (2 if len(limits) else len(self._branches(k)))  # missing cells have a branch of their own
        if placed is None or (lost >= 0 and not own):
            return inside
        return nw.when(placed).then(inside).otherwise(self._at(first + lost) if own else nw.lit(PARTED))

    def _share(self, k: int) -> Any:
        """What comes to a node of what its parent has."""
        import narwhals.stable.v2 as nw

        parent = int(self.tree.parent[k])
        branch = k - int(self.tree.children[parent])
        above, x, limits = nw.col(f"cw_p{parent}"), self._column(parent), self.tree.limits_of(parent)
        if len(limits):
            inside = x <= float(limits[0]) if branch == 0 else x > float(limits[0])
        else:
            inside = x.is_in(self._branches(parent)[branch])
        taken, placed = nw.when(inside).then(above).otherwise(0.0), self._placed(parent)
        return taken if placed is None else nw.when(placed).then(taken).otherwise(above * float(self.shares[k]))

    def _column(self, k: int) -> Any:
        import narwhals.stable.v2 as nw

        return nw.col(self.features[self.tree.attribute[k]].column)

    def _branches(self, k: int) -> dict[int, list[Any]]:
        """The values of each branch of a node."""
        attribute = self.features[self.tree.attribute[k]].attribute
        assert isinstance(attribute, Nominal)  # noqa: S101 - numbers have limits
        found: dict[int, list[Any]] = {}
        for value, branch in zip(attribute.values, self.tree.groups_of(k).tolist(), strict=False):
            if branch >= 0:
                found.setdefault(branch, []).append(value)
        return found

    def _placed(self, k: int) -> Any:
        """Whether a cell has a branch of its own; None if all have."""
        x, place = self._column(k), int(self.tree.attribute[k])
        if not len(self.tree.limits_of(k)):
            placed = [value for values in self._branches(k).values() for value in values]
            attribute = self.features[place].attribute
            assert isinstance(attribute, Nominal)  # noqa: S101 - numbers have limits
            if len(placed) < len(attribute.values):
                return x.is_in(placed)
        return ~x.is_null() if self.gaps[place] else None


def _chosen(x: Any, cases: Sequence[tuple[list[Any], Any]]) -> Any:
    """The case among whose values x is; the last one, if it is among those of none."""
    import narwhals.stable.v2 as nw

    if len(cases) == 1:
        return cases[0][1]
    middle = len(cases) // 2
    lower = [value for values, _ in cases[:middle] for value in values]
    return nw.when(x.is_in(lower)).then(_chosen(x, cases[:middle])).otherwise(_chosen(x, cases[middle:]))
