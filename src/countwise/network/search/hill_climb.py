"""Structure learning by hill climbing with a tabu list: arcs are added, removed and reversed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from countwise._typing import Floats
from countwise.errors import OptionError
from countwise.network.family_scores import Families
from countwise.network.graph import Graph
from countwise.network.search.constraints import TINY, Constraints, FoundStructure

__all__ = ["hill_climb"]

Move = tuple[str, int, int]  # the action, and the arc: parent and child
Step = list[Move]  # one move, or two that are made together
Parents = list[list[int]]


def hill_climb(
    families: Families,
    names: Sequence[str],
    constraints: Constraints,
    start: Graph | None = None,
    tabu: int = 10,
    patience: int = 10,
    restarts: int = 0,
    seed: int = 0,
) -> FoundStructure:
    """Search for the structure with the best score by hill climbing with a tabu list and restarts.

    Each step adds, removes or reverses the arc with the largest gain. At a node that already has the largest allowed
    number of parents, one of them may also be exchanged for another. The last `tabu` steps are not undone, and at
    most `patience` steps pass without a better score. Restarts alternate between the required arcs alone, with a
    random node order that breaks ties differently, and the best structure so far after many random moves.
    """
    if restarts < 0:
        raise OptionError(f"restarts must be an integer >= 0, not {restarts!r}.")
    bare = {name: constraints.parents(name) for name in names}
    parents = bare
    if start is not None:
        parents = {name: tuple(dict.fromkeys((*bare[name], *start.parents[name]))) for name in names}
    climb = _Climb(families, Graph(parents).parents, constraints)
    best, score = _climbed(climb, tabu, patience)
    rng = np.random.default_rng(seed)
    for turn in range(restarts):
        if turn % 2:
            climb.restore(best)
            _shake(climb, max(4, sum(map(len, best)) // 2), rng)
        else:
            climb.restore(climb.numbered(bare), rng.permutation(len(names)).tolist())
        found, reached = _climbed(climb, tabu, patience)
        if reached > score + TINY:
            best, score = found, reached
    named = {name: tuple(names[p] for p in best[i]) for i, name in enumerate(names)}
    climb.restore(best)
    return FoundStructure(Graph(named), score, climb.arc_gains())


def _climbed(climb: _Climb, tabu: int, patience: int) -> tuple[Parents, float]:
    """Climb from the current structure; return the best structure found and its score."""
    best, best_score, waited = climb.copy(), climb.score, 0
    recent: list[Move] = []
    while waited < patience:
        step = climb.best(recent)
        if step is None:
            break
        climb.take(step)
        recent = [*recent, *map(_reverse, step)][-tabu:] if tabu else []
        if climb.score > best_score + TINY:
            best, best_score, waited = climb.copy(), climb.score, 0
        else:
            waited += 1
    return best, best_score


def _shake(climb: _Climb, moves: int, rng: np.random.Generator) -> None:
    """Make random moves, whatever their gain."""
    for _ in range(moves):
        possible = climb.possible()
        if possible:
            climb.take([possible[int(rng.integers(len(possible)))]])


def _reverse(move: Move) -> Move:
    what, parent, child = move
    if what == "turn":
        return "turn", child, parent
    return "remove" if what == "add" else "add", parent, child


class _Climb:
    """A structure under search, with the gain of each possible change.

    Nodes are integers. `arc[parent, child]` marks the arcs, `below[a, b]` is true if b is a or a descendant of a, and
    `gains[child, parent]` is the gain of removing a present arc or adding an absent one: minus infinity if not
    allowed.
    """

    def __init__(self, families: Families, parents: Mapping[str, Sequence[str]], constraints: Constraints) -> None:
        self.families, self.constraints = families, constraints
        self.names = list(parents)
        n = len(self.names)
        pairs = [(child, parent) for child in range(n) for parent in range(n) if parent != child]
        self.may = np.zeros((n, n), dtype=bool)
        self.held = np.zeros((n, n), dtype=bool)
        for child, parent in pairs:
            self.may[child, parent] = constraints.allows(self.names[parent], self.names[child])
            self.held[child, parent] = (self.names[parent], self.names[child]) in constraints.required
        self.restore(self.numbered(parents))

    def numbered(self, parents: Mapping[str, Sequence[str]]) -> Parents:
        """Convert parents by name to node numbers."""
        place = {name: i for i, name in enumerate(self.names)}
        return [[place[p] for p in parents[name]] for name in self.names]

    def restore(self, parents: Parents, order: Sequence[int] | None = None) -> None:
        """Replace the structure; `order` lists the nodes in the order that breaks ties between moves."""
        n = len(self.names)
        self.parents: Parents = [[] for _ in range(n)]
        self.arc = np.zeros((n, n), dtype=bool)
        self.below = np.eye(n, dtype=bool)
        for child, above in enumerate(parents):
            for parent in above:
                self._add(parent, child)
        self.own = [0.0] * n
        self.gains = np.full((n, n), -np.inf)
        self.exchanges: list[dict[tuple[int, int], float]] = [{} for _ in range(n)]  # by child: old and new parent
        self.order: list[int] = []  # in the order of computation; ties go to the first move
        self._refresh(list(range(n) if order is None else order))

    def copy(self) -> Parents:
        """Return the parents of all nodes."""
        return [list(above) for above in self.parents]

    @property
    def score(self) -> float:
        return float(sum(self.own))

    def _refresh(self, changed: list[int]) -> None:
        """Update the gains of the arcs into some nodes; new families are counted together."""
        candidates = [(child, *one) for child in changed for one in self._families(child)]
        names = self.names
        scores = self.families.many([(names[child], [names[p] for p in above]) for child, _, _, above in candidates])
        self.gains[changed] = -np.inf
        for child in changed:
            self.exchanges[child] = {}
        for (child, old, new, _), score in zip(candidates, scores, strict=True):
            if old < 0 and new < 0:
                self.own[child] = score
            elif old < 0 or new < 0:
                self.gains[child, max(old, new)] = score - self.own[child]
            else:
                self.exchanges[child][old, new] = score - self.own[child]
        self.order = [child for child in self.order if child not in changed] + changed

    def _families(self, child: int) -> Iterator[tuple[int, int, list[int]]]:
        """Yield the removed parent, the added parent (-1 for none), and the parents of each candidate family."""
        above = self.parents[child]
        free = [p for p in above if not self.held[child, p]]
        others = np.flatnonzero(self.may[child] & ~self.arc[:, child]).tolist()
        yield -1, -1, above
        for p in free:
            yield p, -1, [q for q in above if q != p]
        if len(above) < self.constraints.max_parents:
            for p in others:
                yield -1, p, [*above, p]
        elif len(above) == self.constraints.max_parents:
            for old in free:
                for p in others:
                    yield old, p, [*(q for q in above if q != old), p]

    def moves(self, tabu: Sequence[Move] = ()) -> Floats:
        """Return the gains as `moves[child, parent]`: of adding or removing the arc, and of reversing it."""
        found = np.full((*self.gains.shape, 2), -np.inf)
        found[..., 0] = np.where(self.arc.T | ~self.below, self.gains, -np.inf)  # no arc from a descendant
        parent, child = np.nonzero(self.arc)
        # children of the parent that lead to the child; 1 is the arc itself, more would make a cycle when reversed
        paths = (self.arc[parent] & self.below[:, child].T).sum(axis=1)
        turned = self.gains[child, parent] + self.gains[parent, child]
        found[child, parent, 1] = np.where(paths == 1, turned, -np.inf)
        for what, p, c in tabu:
            if what == "turn":
                found[c, p, 1] = -np.inf
            elif self.arc[p, c] == (what == "remove"):
                found[c, p] = -np.inf  # an arc that must not be removed is not reversed either
        return found

    def best(self, tabu: Sequence[Move]) -> Step | None:
        """Return the step with the largest gain that creates no cycle."""
        gains = self.moves(tabu)[self.order].ravel()
        most = np.maximum.accumulate(gains)
        found, gain = -1, -np.inf
        for at in [0, *(np.flatnonzero(gains[1:] > most[:-1]) + 1).tolist()] if len(gains) else []:
            if gains[at] > gain + TINY:
                found, gain = at, gains[at]
        exchange = self._best_exchange(tabu, gain)
        if exchange is not None or found < 0:
            return exchange
        return [self._named(found)]

    def _best_exchange(self, tabu: Sequence[Move], least: float) -> Step | None:
        """Return the exchange of parents with the largest gain, if it exceeds `least`."""
        found: Step | None = None
        for child in self.order:
            for (old, new), gain in self.exchanges[child].items():
                if gain > least + TINY and not self.below[child, new]:
                    step: Step = [("remove", old, child), ("add", new, child)]
                    if not any(move in tabu for move in step):
                        found, least = step, gain
        return found

    def possible(self) -> list[Move]:
        """Return all moves that create no cycle."""
        return [self._named(at) for at in np.flatnonzero(np.isfinite(self.moves()[self.order].ravel())).tolist()]

    def _named(self, at: int) -> Move:
        place, turn = divmod(at, 2)
        child, parent = self.order[place // len(self.names)], place % len(self.names)
        what = "turn" if turn else "remove" if self.arc[parent, child] else "add"
        return what, parent, child

    def take(self, step: Step) -> None:
        """Make the moves of a step."""
        changed: dict[int, None] = {}
        for what, parent, child in step:
            changed[child] = None
            if what != "add":
                self._remove(parent, child)
            if what == "turn":
                self._add(child, parent)
                changed[parent] = None
            elif what == "add":
                self._add(parent, child)
        self._refresh(list(changed))

    def arc_gains(self) -> list[tuple[str, str, float, bool]]:
        """Return every allowed arc, its gain in this structure, and whether it is present.

        The gain of a present arc is the loss in score if it were removed. At a node that already has the largest
        allowed number of parents, the gain of an absent arc is that of its best exchange for a present one.
        """
        found = []
        for child, name in enumerate(self.names):
            instead: dict[int, float] = {}
            for (_, new), gain in self.exchanges[child].items():
                instead[new] = max(gain, instead.get(new, -np.inf))
            for parent in np.flatnonzero(self.may[child] | self.arc[:, child]).tolist():
                present = bool(self.arc[parent, child])
                gain = -self.gains[child, parent] if present else self.gains[child, parent]
                if present and self.held[child, parent]:
                    rest = [self.names[p] for p in self.parents[child] if p != parent]
                    gain = self.own[child] - self.families.of(name, rest)
                elif not present and not np.isfinite(gain):
                    gain = instead.get(parent, -np.inf)
                if np.isfinite(gain):
                    found.append((self.names[parent], name, float(gain), present))
        return found

    def _add(self, parent: int, child: int) -> None:
        self.parents[child].append(parent)
        self.arc[parent, child] = True
        self.below[self.below[:, parent]] |= self.below[child]

    def _remove(self, parent: int, child: int) -> None:
        self.parents[child].remove(parent)
        self.arc[parent, child] = False
        changed = np.flatnonzero(self.below[:, parent])
        upwards = np.argsort(self.below[changed].sum(axis=1), kind="stable")  # ancestors have more descendants
        for node in changed[upwards].tolist():
            self.below[node] = self.below[self.arc[node]].any(axis=0)
            self.below[node, node] = True
