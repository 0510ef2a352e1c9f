"""Pruning: pessimistic (C4.5), reduced-error and cost-complexity (CART), with a record of each decision."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise import progress
from countwise._typing import Flags, Floats, Indices
from countwise.errors import OptionError, TableError, did_you_mean, listed
from countwise.splits import by_content, splits_of
from countwise.tree.conditions import condition_of, conditions_to
from countwise.tree.features import Feature
from countwise.tree.growth.builder import TrainingSet
from countwise.tree.growth.criteria import Criterion
from countwise.tree.growth.grow_memory import MemoryTrainingSet
from countwise.tree.growth.settings import GrowthSettings
from countwise.tree.nodes import Tree
from countwise.working import Grid

__all__ = [
    "MOST_STEPS",
    "PrunedBranch",
    "PruningStep",
    "between",
    "check_pruning",
    "checked",
    "grown_and_pruned",
    "held_out_weights",
    "needs_no_rows",
    "prune_pessimistically",
    "recorded_steps",
    "upper_error",
]

_METHODS = ("pessimistic", "reduced_error", "cost_complexity")
MOST_STEPS = 100  # decisions that are recorded: those near the root


@dataclass(frozen=True, slots=True)
class PrunedBranch:
    """Branch of a subtree that may be pruned: a leaf, or a subtree that was kept."""

    condition: str
    rows: float
    errors: float  # of the branch, without any correction
    estimate: float  # upper limit of the errors (pessimistic), or the errors themselves
    leaves: int


@dataclass(frozen=True, slots=True)
class PruningStep:
    """Decision about one subtree: the node as a leaf against its branches.

    For cost-complexity pruning, the estimates are impurities times the fraction of the rows.
    """

    node: str  # the conditions on the path to the node
    branch: str  # the last test on this path
    rows: float
    errors: float  # as a leaf
    leaf: float  # estimate as a leaf
    subtree: float  # sum of the estimates of the branches
    leaves: int  # leaves of the subtree
    pruned: bool
    branches: tuple[PrunedBranch, ...] = ()

    @property
    def alpha(self) -> float:
        """Increase of the estimate for each leaf that pruning removes."""
        return max(self.leaf - self.subtree, 0.0) / max(self.leaves - 1, 1)

    def to_list(self) -> list[Any]:
        """Return the step as plain data, for the model file."""
        return [*astuple(self)[:-1], [list(astuple(branch)) for branch in self.branches]]


def checked(values: Any, kinds: Sequence[type], what: str) -> list[Any]:
    """Return a list from a model file; raise ValueError unless its items are of the given types."""
    suits = isinstance(values, list) and len(values) == len(kinds)
    for value, kind in zip(values if suits else [None], kinds, strict=False):
        number = type(value) in (int, float) and -1e300 < value < 1e300
        if not (number if kind is float else type(value) is kind):
            raise ValueError(f"{what} is damaged")
    return list(values)


def recorded_steps(data: Any) -> tuple[PruningStep, ...]:
    """Return the steps that a model file holds; raise ValueError for anything else."""
    kinds, what = (str, str, float, float, float, float, int, bool), "a step of the pruning"
    if not isinstance(data, list) or not all(isinstance(one, list) and one for one in data):
        raise ValueError("the steps of the pruning are no list")
    found = []
    for *own, branches in data:
        every = branches if isinstance(branches, list) else [None]
        parts = tuple(PrunedBranch(*checked(one, (str, float, float, float, int), what)) for one in every)
        found.append(replace(PruningStep(*checked(own, kinds, what)), branches=parts))
    return tuple(found)


def upper_error(errors: Floats, n: Floats, confidence: float) -> Floats:
    """Return n times the upper confidence limit of the error rate: the pessimistic errors of C4.5.

    The limit U is the exact binomial one: P(at most e errors in n rows | error rate U) = confidence. Without errors
    it is 1 - confidence^(1/n).

    Examples
    --------
    >>> import numpy as np
    >>> from countwise.tree.pruning import upper_error
    >>> upper_error(np.array([0.0, 0.0, 1.0]), np.array([6.0, 9.0, 16.0]), 0.25).round(3).tolist()
    [1.238, 1.285, 2.554]
    """
    from scipy.special import betaincinv

    n = np.asarray(n, dtype=np.float64)
    errors = np.clip(np.asarray(errors, dtype=np.float64), 0.0, n)
    some = (n > 0) & (errors < n * (1 - 1e-12))
    rate = np.ones_like(n)
    rate[some] = betaincinv(errors[some] + 1, n[some] - errors[some], 1 - confidence)
    return np.where(n > 0, rate * n, 0.0)


def prune_pessimistically(tree: Tree, confidence: float) -> Tree:
    """Prune a decision tree by pessimistic training errors (C4.5)."""
    cut, _ = cut_by_errors(tree, upper_error(*_training_errors(tree), confidence))
    return tree.without(cut) if cut.any() else tree


def _training_errors(tree: Tree) -> tuple[Floats, Floats]:
    """Return the training errors of each node as a leaf, and its rows."""
    n = tree.cells.sum(axis=1)
    return n - tree.cells.max(axis=1, initial=0.0), n


def cut_by_errors(tree: Tree, errors: Floats) -> tuple[Flags, Floats]:
    """Decide bottom up: a node becomes a leaf if this does not increase the total errors of the leaves below it.

    Returns a mask of the nodes that become leaves, and the total of each node afterwards.
    """
    below = np.where(tree.attribute < 0, errors, 0.0)
    cut = np.zeros(len(tree), dtype=bool)
    for k in range(len(tree) - 1, -1, -1):  # children follow their parents
        if tree.attribute[k] >= 0 and errors[k] <= below[k] * (1 + 1e-9) + 1e-12:
            cut[k] = True
            below[k] = errors[k]
        if k:
            below[tree.parent[k]] += below[k]
    return cut, below


def _pruned(
    tree: Tree, features: Sequence[Feature], errors: Floats, rows: Floats, estimates: Floats
) -> dict[str, Any]:
    """Prune a tree by estimates of the errors; return the tree and the steps."""
    cut, below = cut_by_errors(tree, estimates)
    leaf = cut | (tree.attribute < 0)
    wrong, leaves = np.where(leaf, errors, 0.0), leaf.astype(np.int64)
    for k in range(len(tree) - 1, 0, -1):
        if not leaf[tree.parent[k]]:
            wrong[tree.parent[k]] += wrong[k]
            leaves[tree.parent[k]] += leaves[k]

    def step(k: int) -> PruningStep:
        parts = [
            PrunedBranch(
                str(condition_of(tree, features, c)), float(rows[c]), float(wrong[c]), float(below[c]), int(leaves[c])
            )
            for c in tree.children_of(k)
        ]
        total, n = sum(part.estimate for part in parts), sum(part.leaves for part in parts)
        own = float(rows[k]), float(errors[k]), float(estimates[k])
        return PruningStep(*_names_of(tree, features, k), *own, total, n, bool(cut[k]), tuple(parts))

    inner = np.flatnonzero(tree.attribute >= 0)[:MOST_STEPS]
    steps = tuple(step(k) for k in reversed(inner.tolist()))
    return {"tree_": tree.without(cut) if cut.any() else tree, "_pruning_steps": steps}


def _names_of(tree: Tree, features: Sequence[Feature], k: int) -> tuple[str, str]:
    """Return the conditions on the path to a node, and the last test."""
    path = " and ".join(map(str, conditions_to(tree, features, k)))
    return (path, str(condition_of(tree, features, k))) if k else ("all rows", "all rows")


def _errors(tree: Tree, data: MemoryTrainingSet, numeric: bool) -> Floats:
    """Return the errors that each node would make as a leaf on the rows that pass it, weighted (or squared)."""
    return _errors_and_rows(tree, data, numeric)[0]


def _errors_and_rows(tree: Tree, data: MemoryTrainingSet, numeric: bool) -> Floats:
    """Return the errors of each node as a leaf, and the weight of the rows that pass it: (2, nodes)."""
    landing = tree.land(data.columns, data.n_rows, tree.weights(numeric))
    cells = tree.predicting_cells(numeric)
    predicted = cells[:, 1] if numeric else np.argmax(cells, axis=1)
    node = landing.leaves.astype(np.int64)
    rows = np.arange(landing.n_rows) if landing.rows is None else landing.rows
    w = np.ones(len(rows)) if landing.fractions is None else landing.fractions.copy()
    w = w if data.weights is None else w * data.weights[rows]
    y = data.y[rows]
    found = np.zeros((2, len(tree)))
    moving = np.arange(len(node))
    while len(moving):
        here = node[moving]
        wrong = (y[moving] - predicted[here]) ** 2 if numeric else (y[moving] != predicted[here]).astype(np.float64)
        np.add.at(found[0], here, w[moving] * wrong)
        np.add.at(found[1], here, w[moving])
        node[moving] = tree.parent[here]
        moving = moving[node[moving] >= 0]
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Path:
    """Sequence of trees of cost-complexity pruning, from the full tree to the root."""

    alphas: Floats  # (steps,): smallest alpha for which each tree is optimal, ascending; the first is 0
    impurities: Floats  # (steps,): mean impurity of the leaves of each tree, weighted by rows
    leaves: Indices  # (steps,): number of leaves of each tree
    pruned_at: Floats  # (nodes,): alpha at which a node becomes a leaf; infinite for leaves of the full tree
    links: list[tuple[int, float, float, int]]  # pruned nodes in order: R(t), R(T_t) and leaves of T_t at that moment
    numeric: bool  # whether the target is numeric


def _complexity_path(tree: Tree, criterion: Criterion) -> Path:
    """Compute the pruning path by weakest-link pruning.

    .. math:: g(t) = [R(t) - R(T_t)] / (|leaves of T_t| - 1)

    The node t with the smallest g(t) becomes a leaf first. R(t) is the impurity of node t times its fraction of the
    rows, and R(T_t) is the sum of R over the leaves below t.
    """
    weights = tree.weights(criterion.numeric)
    risk = weights / weights[0] * criterion.at_nodes(tree.cells)
    leaf = tree.attribute < 0
    below = np.where(leaf, risk, 0.0)
    leaves = leaf.astype(np.int64)
    for k in range(len(tree) - 1, 0, -1):
        below[tree.parent[k]] += below[k]
        leaves[tree.parent[k]] += leaves[k]

    def link(k: int) -> float:
        return max(float(risk[k] - below[k]) / max(int(leaves[k]) - 1, 1), 0.0)

    waiting = [(link(k), k) for k in np.flatnonzero(~leaf).tolist()]
    heapq.heapify(waiting)
    pruned_at = np.full(len(tree), np.inf)
    gone = np.zeros(len(tree), dtype=bool)
    alphas, impurities, counts = [0.0], [float(below[0])], [int(leaves[0])]
    alpha, links = 0.0, []
    while waiting:
        g, k = heapq.heappop(waiting)
        if gone[k] or np.isfinite(pruned_at[k]) or g != link(k):
            continue  # already pruned, or an outdated entry
        alpha = max(alpha, g)
        _cut_off(tree, k, alpha, pruned_at, gone)
        links.append((k, float(risk[k]), float(below[k]), int(leaves[k])))
        lost, fewer = float(risk[k] - below[k]), int(leaves[k]) - 1
        at = k
        while at >= 0:
            below[at] += lost
            leaves[at] -= fewer
            if at != k:
                heapq.heappush(waiting, (link(at), at))
            at = int(tree.parent[at])
        if alpha <= alphas[-1] * (1 + 1e-12) + 1e-300:
            impurities[-1], counts[-1] = float(below[0]), int(leaves[0])
        else:
            alphas.append(alpha)
            impurities.append(float(below[0]))
            counts.append(int(leaves[0]))
    return Path(np.array(alphas), np.array(impurities), np.array(counts), pruned_at, links, criterion.numeric)


def _cut_off(tree: Tree, k: int, alpha: float, pruned_at: Floats, gone: Flags) -> None:
    """Mark a node as a leaf from alpha on, and all nodes below it as removed."""
    pruned_at[k] = alpha
    waiting = [k]
    while waiting:
        for child in tree.children_of(waiting.pop()):
            if not gone[child]:  # nodes below a removed node are removed already
                gone[child] = True
                waiting.append(child)


def check_pruning(pruning: Any, numeric_target: bool) -> None:
    """Raise OptionError for an unknown pruning method."""
    known = _METHODS[1:] if numeric_target else _METHODS
    if pruning is not None and not (isinstance(pruning, str) and pruning in known):
        raise OptionError(
            f"pruning must be one of {listed(known)} or None, not {pruning!r}.", hint=did_you_mean(pruning, known)
        )


def needs_no_rows(model: Any) -> bool:
    """Return whether the pruning method uses only the tree, without the training rows."""
    given = model.pruning == "cost_complexity" and not isinstance(model.ccp_alpha, str)
    return model.pruning in (None, "pessimistic") or given


def grown_and_pruned(model: Any, data: TrainingSet, settings: GrowthSettings) -> dict[str, Any]:
    """Grow and prune a tree; return `tree_`, and for cost-complexity pruning also `alpha_` and `path_`."""
    if model.pruning is None:
        return {"tree_": data.grow(settings)}
    if model.pruning == "pessimistic":
        confidence = between("confidence", model.confidence, 0.5, closed=True)
        tree = data.grow(settings)
        errors, rows = _training_errors(tree)
        return _pruned(tree, data.features, errors, rows, upper_error(errors, rows, confidence))
    if needs_no_rows(model):
        alpha = model.ccp_alpha
        if not isinstance(alpha, int | float | np.number) or isinstance(alpha, bool) or not alpha >= 0:
            raise OptionError(f"ccp_alpha must be a number >= 0, 'cv' or 'one_se', not {alpha!r}.")
        tree = data.grow(settings)
        return _cut_at(tree, data.features, _complexity_path(tree, settings.criterion), float(alpha), {})
    assert isinstance(data, MemoryTrainingSet)  # noqa: S101 - other training sets are refused earlier
    if model.pruning == "cost_complexity":
        return _by_complexity(model, data, settings)
    fraction = between("validation_fraction", model.validation_fraction, 1.0)
    held = held_out_weights(data, fraction, model.random_state)
    tree = data.weighed(data.own_weights - held).grow(settings)
    errors, rows = _errors_and_rows(tree, data.weighed(held), settings.criterion.numeric)
    return _pruned(tree, data.features, errors, rows, errors)


def _cut_at(
    tree: Tree, features: Sequence[Feature], path: Path, alpha: float, more: dict[str, Any]
) -> dict[str, Any]:
    """Return the tree pruned at one alpha, the pruning path and its steps."""
    table = {"alpha": path.alphas, "leaves": path.leaves, "impurity": path.impurities, **more}
    cut = path.pruned_at <= alpha * (1 + 1e-12)
    grid = Grid({name: np.asarray(column).tolist() for name, column in table.items()})
    weights = tree.cells[:, 0] if path.numeric else tree.cells.sum(axis=1)
    steps = tuple(
        PruningStep(*_names_of(tree, features, k), float(weights[k]), 0.0, risk, below, leaves, bool(cut[k]))
        for k, risk, below, leaves in path.links[-MOST_STEPS:]
    )
    pruned = tree.without(cut) if cut.any() else tree
    return {"tree_": pruned, "alpha_": alpha, "path_": grid, "_pruning_steps": steps}


def between(name: str, value: Any, most: float, *, closed: bool = False) -> float:
    """Return a setting as a float; raise OptionError unless it is in (0, most), or (0, most] if closed."""
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not number or not (0 < value < most or (closed and value == most)):
        end = "at most" if closed else "less than"
        raise OptionError(f"{name} must be a number greater than 0 and {end} {most:g}, not {value!r}.")
    return float(value)


def held_out_weights(data: MemoryTrainingSet, fraction: float, seed: Any) -> NDArray[Any]:
    """Return the weight of each row that is held out, the same fraction of each class.

    Rows are chosen by their content, so that their order does not matter. Part of a row with an integer weight n, or
    of n equal rows, may be held out.
    """
    same = by_content([*data.columns, data.y], together=True)
    turn = np.random.default_rng(seed).permutation(int(same.max()) + 1)[same]
    weights = data.own_weights
    strata = data.y if data.n_classes else np.zeros(data.n_rows, dtype=np.intp)
    held = np.zeros_like(weights)
    for c in np.unique(strata):
        rows = np.flatnonzero(strata == c)
        rows = rows[np.argsort(turn[rows], kind="stable")]
        w = weights[rows]
        # rows at regular intervals in that order, so that the same fraction of equal rows is held out
        ends = np.floor(fraction * np.cumsum(w if w.dtype.kind == "i" else np.ones(len(w))) + 0.5)
        taken = np.diff(ends, prepend=0.0)
        held[rows] = taken if w.dtype.kind == "i" else w * taken
    if not held.any() or not (weights - held).any():
        raise TableError(
            f"The table is too small to hold out rows for validation (n_samples={data.n_rows}).",
            hint="use more rows, another validation_fraction, or a method that holds out no rows.",
        )
    return held


def _by_complexity(model: Any, data: MemoryTrainingSet, settings: GrowthSettings) -> dict[str, Any]:
    if model.ccp_alpha not in ("cv", "one_se"):
        raise OptionError(f"ccp_alpha must be a number >= 0, 'cv' or 'one_se', not {model.ccp_alpha!r}.")
    tree = data.grow(settings)
    path = _complexity_path(tree, settings.criterion)
    error, standard_error = _held_out_errors(model, data, settings, path)
    best = int(np.argmin(error))
    limit = error[best] + (standard_error[best] if model.ccp_alpha == "one_se" else 0.0)
    chosen = int(np.flatnonzero(error <= limit * (1 + 1e-12) + 1e-300)[-1])  # ties go to the smallest tree
    more = {"held-out error": error, "standard error": standard_error}
    return _cut_at(tree, data.features, path, float(path.alphas[chosen]), more)


def _held_out_errors(
    model: Any, data: MemoryTrainingSet, settings: GrowthSettings, path: Path
) -> tuple[Floats, Floats]:
    """Return the cross-validated error of each step of the path, and its standard error over the folds."""
    # each step is represented by the geometric mean of its alpha and the next
    alphas = np.append(np.sqrt(path.alphas[:-1] * path.alphas[1:]), np.inf)
    criterion, errors = settings.criterion, []
    with progress.quiet():
        for train, test in _folds(model, data):
            tree, held = data.take(train).grow(settings), data.take(test)
            own = _complexity_path(tree, criterion)
            total = float(held.n_rows if held.floats is None else held.floats.sum())
            errors.append(_along(tree, own, _errors(tree, held, criterion.numeric), alphas) / total)
    every = np.array(errors)
    return every.mean(axis=0), every.std(axis=0) / np.sqrt(len(every))


def _folds(model: Any, data: MemoryTrainingSet) -> list[tuple[NDArray[Any], NDArray[Any]]]:
    """Return the training and test rows of each fold; given splits refer to rows of the user's table."""
    cv, places = model.cv, data.places
    if places is not None and not isinstance(cv, int | np.integer | str) and not hasattr(cv, "split"):
        where = np.full(data.n_given, -1, dtype=np.intp)
        where[places] = np.arange(data.n_rows)
        pairs = splits_of(cv, data.n_given, lambda: places)
        return [(where[a][where[a] >= 0], where[b][where[b] >= 0]) for a, b in pairs]

    def content() -> NDArray[Any]:
        return by_content([*data.columns, data.y])

    return splits_of(cv, data.n_rows, content, data.y if data.n_classes else None, model.random_state)


def _along(tree: Tree, path: Path, errors: Floats, alphas: Floats) -> Floats:
    """Return the errors of a tree pruned at each alpha."""
    below = np.where(tree.attribute < 0, errors, 0.0)
    found = np.empty(len(alphas))
    # nodes are pruned in the order of their alphas, deeper nodes first
    order = np.lexsort((-np.arange(len(tree)), path.pruned_at))
    order = order[np.isfinite(path.pruned_at[order])]
    for k in range(len(tree) - 1, 0, -1):
        below[tree.parent[k]] += below[k]
    place = 0
    for i in np.argsort(alphas, kind="stable"):
        while place < len(order) and path.pruned_at[order[place]] <= alphas[i] * (1 + 1e-12):
            k = int(order[place])
            change = errors[k] - below[k]
            while k >= 0:
                below[k] += change
                k = int(tree.parent[k])
            place += 1
        found[i] = below[0]
    return found
