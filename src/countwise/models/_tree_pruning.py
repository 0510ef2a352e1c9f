"""How a tree is grown and pruned, by the settings of its model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise import progress
from countwise._typing import Floats
from countwise.errors import OptionError, TableError, did_you_mean, listed
from countwise.folds import by_content, splits_of
from countwise.trees.criteria import Criterion
from countwise.trees.ground import Ground, Splitting
from countwise.trees.paths import land
from countwise.trees.pruning import Path, at_nodes, complexity_path, pessimistic_errors, prune_by_errors
from countwise.trees.tree import Tree
from countwise.working import Grid

__all__ = [
    "between",
    "held_out_weights",
    "known_rules",
    "needs_no_rows",
    "pruned",
    "pruned_by_itself",
    "unknown_rule",
]

_RULES = ("pessimistic", "reduced_error", "cost_complexity")


def pruned(
    model: Any, ground: Ground, criterion: Criterion, splitting: Splitting, stopping: dict[str, Any]
) -> dict[str, Any]:
    """The tree, and what pruning found on the way to it."""
    rule = model.pruning
    if needs_no_rows(model):
        return pruned_by_itself(model, lambda: ground.grow(criterion, splitting, stopping), criterion)
    if rule == "reduced_error":
        share = between("validation_fraction", model.validation_fraction, 1.0)
        held = held_out_weights(ground, share, model.random_state)
        weights = np.ones(ground.n_rows, dtype=np.int64) if ground.weights is None else ground.weights
        tree = ground.weighed(weights - held).grow(criterion, splitting, stopping)
        return {"tree_": prune_by_errors(tree, _errors(tree, ground.weighed(held), criterion))}
    if rule == "cost_complexity":
        return _by_complexity(model, ground, criterion, splitting, stopping)
    raise unknown_rule(model)


def known_rules(model: Any) -> tuple[str, ...]:
    """The rules of pruning that a model has."""
    return _RULES[1:] if model._numbers else _RULES


def unknown_rule(model: Any) -> OptionError:
    """What is said of a rule of pruning that there is not."""
    rule, known = model.pruning, known_rules(model)
    hint = did_you_mean(rule, known) or f"give {listed(known)} or None."
    return OptionError(f"pruning={rule!r} is unknown.", hint=hint)


def needs_no_rows(model: Any) -> bool:
    """Whether the rule of pruning looks at the tree alone."""
    given = model.pruning == "cost_complexity" and not isinstance(model.ccp_alpha, str)
    return model.pruning is None or given or (model.pruning == "pessimistic" and not model._numbers)


def pruned_by_itself(model: Any, grow: Callable[[], Tree], criterion: Criterion) -> dict[str, Any]:
    """A tree pruned by a rule that looks at nothing else."""
    if model.pruning is None:
        return {"tree_": grow()}
    if model.pruning == "pessimistic":
        confidence = between("confidence", model.confidence, 0.5, closed=True)
        tree = grow()
        return {"tree_": prune_by_errors(tree, pessimistic_errors(tree.cells, confidence))}
    alpha = model.ccp_alpha
    if not isinstance(alpha, int | float | np.number) or isinstance(alpha, bool) or not alpha >= 0:
        raise OptionError(f"ccp_alpha={alpha!r} must be a number from 0 on, 'cv' or 'one_se'.")
    tree = grow()
    return _cut_at(tree, complexity_path(tree, _risk(tree, criterion)), float(alpha), {})


def _cut_at(tree: Tree, path: Path, alpha: float, more: dict[str, Any]) -> dict[str, Any]:
    """The tree pruned at one alpha, and the path that led there."""
    table = {"alpha": path.alphas, "leaves": path.leaves, "impurity": path.impurities, **more}
    cut = path.pruned_at <= alpha * (1 + 1e-12)
    grid = Grid({name: np.asarray(column).tolist() for name, column in table.items()})
    return {"tree_": tree.without(cut) if cut.any() else tree, "alpha_": alpha, "path_": grid}


def between(name: str, value: Any, most: float, *, closed: bool = False) -> float:
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not number or not (0 < value < most or (closed and value == most)):
        raise OptionError(f"{name}={value!r} must lie between 0 and {most:g}.")
    return float(value)


def held_out_weights(ground: Ground, share: float, seed: Any) -> NDArray[Any]:
    """Which weight of each row is held out, the same share of each class.

    Rows are taken by their content, so that their order does not matter; of a row of weight n, or of n equal rows,
    some may be held out and some not.
    """
    same = by_content([*ground.columns, ground.told], together=True)
    turn = np.random.default_rng(seed).permutation(int(same.max()) + 1)[same]
    weights = np.ones(ground.n_rows, dtype=np.int64) if ground.weights is None else ground.weights
    strata = ground.told if ground.n_classes else np.zeros(ground.n_rows, dtype=np.intp)
    held = np.zeros_like(weights)
    for c in np.unique(strata):
        rows = np.flatnonzero(strata == c)
        rows = rows[np.argsort(turn[rows], kind="stable")]
        w = weights[rows]
        # every so many-th row in that order, so that of many equal ones the same share is held out
        ends = np.floor(share * np.cumsum(w if w.dtype.kind == "i" else np.ones(len(w))) + 0.5)
        taken = np.diff(ends, prepend=0.0)
        held[rows] = taken if w.dtype.kind == "i" else w * taken
    if not held.any() or not (weights - held).any():
        raise TableError(
            f"No rows can be held out of {ground.n_rows} (n_samples={ground.n_rows}).",
            hint="give more rows, another validation_fraction, or another pruning.",
        )
    return held


def _errors(tree: Tree, ground: Ground, criterion: Criterion) -> Floats:
    """How much some rows err at each node."""
    landing = land(tree, ground.columns, ground.n_rows, tree.weights(criterion.numbers))
    cells = tree.answering(criterion.numbers)
    answers = cells[:, 1] if criterion.numbers else np.argmax(cells, axis=1)
    return at_nodes(tree, landing, ground.told, ground.floats, answers)


def _risk(tree: Tree, criterion: Criterion) -> Floats:
    """The impurity of each node, weighed by its share of the rows."""
    weights = tree.weights(criterion.numbers)
    return np.asarray(weights / weights[0] * criterion.at_nodes(tree.cells))


def _by_complexity(
    model: Any, ground: Ground, criterion: Criterion, splitting: Splitting, stopping: dict[str, Any]
) -> dict[str, Any]:
    if model.ccp_alpha not in ("cv", "one_se"):
        raise OptionError(f"ccp_alpha={model.ccp_alpha!r} is unknown.", hint="give 'cv', 'one_se' or a number.")
    tree = ground.grow(criterion, splitting, stopping)
    path = complexity_path(tree, _risk(tree, criterion))
    error, spread = _held_out_errors(model, ground, criterion, splitting, stopping, path)
    best = int(np.argmin(error))
    limit = error[best] + (spread[best] if model.ccp_alpha == "one_se" else 0.0)
    chosen = int(np.flatnonzero(error <= limit * (1 + 1e-12) + 1e-300)[-1])  # of equally good ones the smallest
    more = {"held-out error": error, "standard error": spread}
    return _cut_at(tree, path, float(path.alphas[chosen]), more)


def _held_out_errors(
    model: Any, ground: Ground, criterion: Criterion, splitting: Splitting, stopping: dict[str, Any], path: Path
) -> tuple[Floats, Floats]:
    """The error of each step of the path on rows that were held out, and its standard error over the folds."""
    # between two steps, their geometric mean
    alphas = np.append(np.sqrt(path.alphas[:-1] * path.alphas[1:]), np.inf)
    errors = []
    with progress.quiet():
        for train, test in _folds(model, ground):
            tree = ground.take(train).grow(criterion, splitting, stopping)
            held = ground.take(test)
            own = complexity_path(tree, _risk(tree, criterion))
            total = float(held.n_rows if held.floats is None else held.floats.sum())
            errors.append(_along(tree, own, _errors(tree, held, criterion), alphas) / total)
    every = np.array(errors)
    return every.mean(axis=0), every.std(axis=0) / np.sqrt(len(every))


def _folds(model: Any, ground: Ground) -> list[tuple[NDArray[Any], NDArray[Any]]]:
    """Rows to grow from and rows to try on; splits that are given number the rows of the user's table."""
    cv, places = model.cv, ground.places
    if places is not None and not isinstance(cv, int | np.integer | str) and not hasattr(cv, "split"):
        where = np.full(ground.n_given, -1, dtype=np.intp)
        where[places] = np.arange(ground.n_rows)
        pairs = splits_of(cv, ground.n_given, lambda: places)
        return [(where[a][where[a] >= 0], where[b][where[b] >= 0]) for a, b in pairs]

    def content() -> NDArray[Any]:
        return by_content([*ground.columns, ground.told])

    return splits_of(cv, ground.n_rows, content, ground.told if ground.n_classes else None, model.random_state)


def _along(tree: Tree, path: Path, errors: Floats, alphas: Floats) -> Floats:
    """The errors of a tree pruned at each alpha."""
    below = np.where(tree.attribute < 0, errors, 0.0)
    found = np.empty(len(alphas))
    # from the whole tree on, cut by cut in the order of their alphas; of one alpha the deeper nodes first
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
