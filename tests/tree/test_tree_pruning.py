"""Pruning against its definitions: limits of binomial tails, rows held out, and every pruning of small trees."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import brentq
from scipy.stats import beta, binom
from sklearn.model_selection import KFold

import countwise
from countwise import TreeClassifier, TreeRegressor, samples
from countwise.errors import CountwiseError, OptionError
from countwise.tree import pruning as _tree_pruning
from countwise.tree.pruning import recorded_steps, upper_error
from countwise.tree.working import upper_limit_formulas

SEEDS = range(6)


@cache
def limit(errors: int, n: int, confidence: float = 0.25) -> float:
    """The error rate at which so few errors are as improbable as `confidence`: the tail summed, the rate bisected."""
    if errors >= n:
        return 1.0
    return float(brentq(lambda p: binom.cdf(errors, n, p) - confidence, 0.0, 1.0, xtol=1e-15, rtol=1e-14))


def mixed(seed: int, rows: int = 40, classes: int = 2) -> tuple[dict[str, Any], np.ndarray]:
    """A table of few values, and a class that it tells in part."""
    rng = np.random.default_rng(seed)
    X = {
        "a": rng.integers(0, 5, rows).astype(float),
        "b": np.array(["p", "q", "r"], dtype=object)[rng.integers(0, 3, rows)],
        "c": rng.integers(0, 3, rows).astype(float),
    }
    told = (X["a"] > 2) + (X["b"] == "q")
    y = np.where(rng.random(rows) < 0.3, rng.integers(0, classes, rows), told % classes)
    return X, np.array(list("xyz"), dtype=object)[y]


def children(tree: Any) -> dict[int, list[int]]:
    below: dict[int, list[int]] = {k: [] for k in range(len(tree))}
    for k, parent in enumerate(tree.parent.tolist()):
        if parent >= 0:
            below[parent].append(k)
    return below


def prunings(below: dict[int, list[int]], k: int = 0) -> Iterator[frozenset[int]]:
    """The leaves of every tree that can be had by making nodes into leaves."""
    yield frozenset([k])
    if below[k]:
        for parts in itertools.product(*(list(prunings(below, child)) for child in below[k])):
            yield frozenset().union(*parts)


def how_many(below: dict[int, list[int]], k: int = 0) -> int:
    return 1 + (math.prod(how_many(below, child) for child in below[k]) if below[k] else 0)


def questions(model: Any) -> Any:
    """A tree as nested plain data: what is asked, where, and what is in the leaves."""
    return cut_at(model, frozenset(model.tree_.leaves.tolist()))


def cut_at(model: Any, leaves: frozenset[int]) -> Any:
    """The same with other nodes as its leaves."""
    tree, below = model.tree_, children(model.tree_)

    def told(k: int) -> Any:
        if k in leaves:
            return tuple(tree.cells[k].tolist())
        asked = int(tree.attribute[k]), tuple(tree.limits_of(k).tolist()), tuple(tree.groups_of(k).tolist())
        return asked, tuple(told(child) for child in below[k])

    return told(0)


def small(fit: Callable[[int], Any], most: int = 20_000) -> list[Any]:
    """Trees whose prunings can all be tried."""
    found = [model for model in map(fit, SEEDS) if 10 <= how_many(children(model.tree_)) <= most]
    assert len(found) >= 3
    return found


# -- pessimistic -------------------------------------------------------------------------------------------------


def test_the_limits_of_quinlans_book():
    pairs = [(0, 6, 0.206), (0, 9, 0.143), (0, 1, 0.750)]
    ours = upper_error(np.array([0.0, 0.0, 0.0]), np.array([6.0, 9.0, 1.0]), 0.25) / [6, 9, 1]
    assert [round(u, 3) for u in ours.tolist()] == [u for *_, u in pairs]
    assert [round(limit(e, n), 3) for e, n, _ in pairs] == [u for *_, u in pairs]
    one = float(upper_error(np.array([1.0]), np.array([16.0]), 0.25)[0]) / 16
    assert 0.157 <= one <= 0.160


@pytest.mark.parametrize("confidence", [0.01, 0.1, 0.25, 0.5])
def test_limits_are_those_of_the_binomial_tail(confidence):
    pairs = [(e, n) for n in (1, 2, 3, 7, 20, 150) for e in sorted({0, 1, n // 3, n - 1, n}) if e <= n]
    errors, n = np.array(pairs, dtype=float).T
    ours = upper_error(errors, n, confidence) / n
    assert_allclose(ours, [limit(e, m, confidence) for e, m in pairs], rtol=1e-9)


def pessimistic(
    tree: Any, tree_below: dict[int, list[int]], confidence: float, k: int = 0
) -> tuple[float, frozenset[int]]:
    """The errors below a node, and the leaves of what is left of it."""
    cells = tree.cells[k]
    n, most = round(cells.sum()), round(cells.max())
    alone = n * limit(n - most, n, confidence) if n else 0.0
    if not tree_below[k]:
        return alone, frozenset([k])
    parts = [pessimistic(tree, tree_below, confidence, child) for child in tree_below[k]]
    together = sum(errors for errors, _ in parts)
    if alone <= together * (1 + 1e-9):
        return alone, frozenset([k])
    return together, frozenset().union(*(leaves for _, leaves in parts))


@pytest.mark.parametrize("confidence", [0.05, 0.25, 0.5])
@pytest.mark.parametrize("nominal", ["multiway", "subset"])
@pytest.mark.parametrize("classes", [2, 3])
def test_a_node_is_a_leaf_if_its_limit_is_no_more_than_that_of_its_leaves(confidence, nominal, classes):
    changed = 0
    for seed in SEEDS:
        X, y = mixed(seed, rows=120, classes=classes)
        whole = TreeClassifier("gain_ratio", nominal=nominal).fit(X, y)
        pruned = TreeClassifier("gain_ratio", nominal=nominal, pruning="pessimistic", confidence=confidence).fit(X, y)
        _, leaves = pessimistic(whole.tree_, children(whole.tree_), confidence)
        assert questions(pruned) == cut_at(whole, leaves)
        changed += len(leaves) < whole.get_n_leaves()
    assert changed


def test_a_smaller_confidence_prunes_no_less():
    sample = samples.load("credit")
    leaves = [
        TreeClassifier(pruning="pessimistic", confidence=c, max_depth=8).fit(sample.X, sample.y).get_n_leaves()
        for c in (0.001, 0.05, 0.25, 0.5)
    ]
    assert leaves == sorted(leaves)
    assert leaves[0] < leaves[-1]


# -- rows held out -----------------------------------------------------------------------------------------------


def held_out(monkeypatch: pytest.MonkeyPatch, fit: Callable[[], Any]) -> tuple[Any, np.ndarray]:
    """A fitted model and the weights of the rows that it held out."""
    seen = []

    def listen(*args: Any) -> Any:
        seen.append(original(*args))
        return seen[-1]

    original = _tree_pruning.held_out_weights
    with monkeypatch.context() as patch:
        patch.setattr(_tree_pruning, "held_out_weights", listen)
        model = fit()
    assert len(seen) == 1
    return model, np.asarray(seen[0])


def errors_at_nodes(whole: Any, X: Any, y: Any, held: np.ndarray) -> np.ndarray:
    """How much rows err at each node that they pass."""
    tree = whole.tree_
    found = np.zeros(len(tree))
    for leaf, told, w in zip(whole.apply(X).tolist(), y.tolist(), held.tolist(), strict=True):
        k = leaf
        while k >= 0:
            full = k
            while tree.weights(whole._numbers)[full] <= 0:
                full = int(tree.parent[full])
            if whole._numbers:
                found[k] += w * (told - tree.cells[full][1]) ** 2
            else:
                found[k] += w * (told != whole.classes_[int(np.argmax(tree.cells[full]))])
            k = int(tree.parent[k])
    return found


@pytest.mark.parametrize("share", [0.25, 0.5])
def test_no_pruning_errs_less_on_the_rows_held_out_and_none_as_good_is_smaller(monkeypatch, share):
    tried = 0
    for seed in range(12):
        X, y = mixed(seed, rows=40)
        settings = {"max_depth": 4, "validation_fraction": share, "random_state": seed}
        pruned, held = held_out(
            monkeypatch,
            lambda: TreeClassifier(pruning="reduced_error", **settings).fit(X, y),  # noqa: B023
        )
        kept = held == 0
        assert set(held.tolist()) == {0, 1}
        for c in ("x", "y"):
            assert abs(held[y == c].sum() - share * np.sum(y == c)) <= 0.5
        whole = TreeClassifier(max_depth=4).fit(X, y, sample_weight=kept.astype(int))
        below = children(whole.tree_)
        if how_many(below) > 30_000:
            continue
        tried += 1
        errors = errors_at_nodes(whole, X, y, held)
        every = [(sum(errors[k] for k in leaves), len(leaves)) for leaves in prunings(below)]
        mine = float(np.sum(held * (pruned.predict(X) != y)))
        assert mine <= np.sum(held * (whole.predict(X) != y))
        assert (mine, pruned.get_n_leaves()) == min(every)
    assert tried >= 4


def test_a_regression_tree_never_errs_more_on_the_rows_held_out_than_before(monkeypatch):
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        X = {"a": rng.normal(size=80).round(2), "b": rng.normal(size=80).round(2)}
        y = np.where(X["a"] > 0, 3.0, 0.0) + rng.normal(size=80)
        pruned, held = held_out(
            monkeypatch,
            lambda: TreeRegressor(pruning="reduced_error").fit(X, y),  # noqa: B023
        )
        whole = TreeRegressor().fit(X, y, sample_weight=(held == 0).astype(int))
        errors = [float(np.sum(held * (m.predict(X) - y) ** 2)) for m in (whole, pruned)]
        assert errors[1] <= errors[0]
        assert pruned.get_n_leaves() < whole.get_n_leaves()


def test_rows_that_cannot_be_held_out_are_an_error():
    with pytest.raises(CountwiseError, match="hold out rows"):
        TreeClassifier(pruning="reduced_error").fit({"x": [1.0]}, ["a"])


# -- cost complexity ---------------------------------------------------------------------------------------------


def impurity(model: Any, k: int) -> float:
    cells = model.tree_.cells[k]
    if model._numbers:
        spread = cells[2] / cells[0] if cells[0] else 0.0
        return float(spread if model.criterion == "variance" else math.sqrt(spread))
    n = cells.sum()
    p = cells[cells > 0] / n if n else np.ones(1)
    return float(1 - np.sum(p**2) if model.criterion == "gini" else -np.sum(p * np.log2(p)))


def risks(model: Any) -> list[float]:
    weights = model.tree_.weights(model._numbers)
    return [float(weights[k] / weights[0]) * impurity(model, k) for k in range(len(model.tree_))]


def classifying(criterion: str, nominal: str) -> Callable[..., Callable[[int], Any]]:
    def with_settings(**more: Any) -> Callable[[int], Any]:
        def fit(seed: int) -> Any:
            return TreeClassifier(criterion, nominal=nominal, max_depth=4, **more).fit(*mixed(seed, rows=30))

        return fit

    return with_settings


def telling_numbers(criterion: str, nominal: str) -> Callable[..., Callable[[int], Any]]:
    def with_settings(**more: Any) -> Callable[[int], Any]:
        def fit(seed: int) -> Any:
            X, y = mixed(seed, rows=25)
            numbers = X["a"] + 3 * (y == "x") + np.random.default_rng(seed).normal(size=len(y))
            return TreeRegressor(criterion, nominal=nominal, max_depth=3, **more).fit(X, numbers)

        return fit

    return with_settings


WAYS = [
    classifying("gini", "subset"),
    classifying("gain", "multiway"),
    classifying("gini", "one_vs_rest"),
    telling_numbers("variance", "subset"),
    telling_numbers("sd", "one_vs_rest"),
]
ways = pytest.mark.parametrize("way", WAYS, ids=["gini", "gain", "one_vs_rest", "variance", "sd"])


@ways
def test_the_subtree_of_an_alpha_is_the_smallest_of_least_cost(way):
    tried = 0
    for seed in SEEDS:
        whole = way()(seed)
        below = children(whole.tree_)
        if how_many(below) > 30_000:
            continue
        tried += 1
        risk = risks(whole)
        every = [(sum(risk[k] for k in leaves), leaves) for leaves in prunings(below)]
        path = way(pruning="cost_complexity", ccp_alpha=0.0)(seed).path_
        steps = path["alpha"]
        between = [math.sqrt(a * b) for a, b in itertools.pairwise(steps)]
        for alpha in [*steps, *between, 1.0 + 2 * steps[-1]]:
            least = min(r + alpha * len(leaves) for r, leaves in every)
            best = [leaves for r, leaves in every if r + alpha * len(leaves) <= least + 1e-12]
            smallest = min(best, key=len)
            pruned = way(pruning="cost_complexity", ccp_alpha=alpha)(seed)
            assert pruned.get_n_leaves() == len(smallest)
            assert questions(pruned) == cut_at(whole, smallest)
            assert pruned.alpha_ == alpha
    assert tried >= 3


@ways
def test_the_path_tells_leaves_and_impurity_of_each_tree_it_passes(way):
    for model in small(way(pruning="cost_complexity", ccp_alpha=0.0)):
        path = model.path_
        assert list(path) == ["alpha", "leaves", "impurity"]
        assert path["alpha"][0] == 0.0
        assert path["alpha"] == sorted(set(path["alpha"]))
        assert path["leaves"] == sorted(set(path["leaves"]), reverse=True)
        assert path["leaves"][-1] == 1
        risk = risks(model)
        assert_allclose(path["impurity"][-1], risk[0], rtol=1e-12)
        assert_allclose(path["impurity"][0], sum(risk[k] for k in model.tree_.leaves), rtol=1e-9, atol=1e-12)
        for before, after in itertools.pairwise(zip(*path.values(), strict=True)):
            alpha = (after[2] - before[2]) / (before[1] - after[1])
            assert_allclose(after[0], alpha, rtol=1e-9, atol=1e-13)


def test_a_cut_at_an_equal_price_is_made():
    # two splits of the same worth below the root, in numbers that are exact
    X = {"a": [0.0, 0, 1, 1], "b": [0.0, 1, 0, 1]}
    y = [0.0, 2.0, 8.0, 10.0]
    whole = TreeRegressor("variance").fit(X, y)
    assert whole.get_n_leaves() == 4
    half = Fraction(1, 2)  # each pair has variance 1 and half of the rows: a leaf more saves 1/2
    at = TreeRegressor("variance", pruning="cost_complexity", ccp_alpha=float(half)).fit(X, y)
    assert at.get_n_leaves() == 2
    before = TreeRegressor("variance", pruning="cost_complexity", ccp_alpha=0.499).fit(X, y)
    assert before.get_n_leaves() == 4
    assert at.path_["alpha"] == [0.0, 0.5, 16.0]
    assert at.path_["leaves"] == [4, 2, 1]
    assert at.path_["impurity"] == [0.0, 1.0, 17.0]


@pytest.mark.parametrize("numbers", [False, True])
def test_held_out_errors_are_those_of_trees_grown_and_pruned_by_hand(numbers):
    X, y = mixed(3, rows=60)
    told = X["a"] + (y == "x") * 2.0 if numbers else y
    kind = TreeRegressor if numbers else TreeClassifier
    criterion = "variance" if numbers else "gini"
    folds = list(KFold(4, shuffle=True, random_state=1).split(np.arange(60)))
    model = kind(criterion, nominal="one_vs_rest", pruning="cost_complexity", cv=folds).fit(X, told)
    path = model.path_
    alphas = [math.sqrt(a * b) for a, b in itertools.pairwise(path["alpha"])] + [np.inf]

    def error(alpha: float, train: Any, test: Any) -> float:
        tree = kind(criterion, nominal="one_vs_rest", pruning="cost_complexity", ccp_alpha=alpha)
        tree.fit({n: c[train] for n, c in X.items()}, told[train])
        answers = tree.predict({n: c[test] for n, c in X.items()})
        return float(np.mean((answers - told[test]) ** 2 if numbers else answers != told[test]))

    every = np.array([[error(alpha, *fold) for alpha in alphas] for fold in folds])
    assert_allclose(path["held-out error"], every.mean(axis=0), rtol=1e-9)
    best = every.mean(axis=0)
    assert model.alpha_ == max(a for a, e in zip(path["alpha"], best, strict=True) if e <= best.min() * (1 + 1e-9))


@pytest.mark.parametrize("kind", ["penguins", "noise", "numbers"])
def test_the_chosen_alpha_is_the_largest_of_least_error_or_within_a_standard_error(kind):
    if kind == "penguins":
        sample = samples.load("penguins")
        models = [
            TreeClassifier("gini", pruning="cost_complexity", ccp_alpha=rule).fit(sample.X, sample.y)
            for rule in ("cv", "one_se")
        ]
    elif kind == "noise":
        rng = np.random.default_rng(0)
        X, y = {"x": rng.normal(size=300), "z": rng.normal(size=300)}, rng.integers(0, 2, 300)
        models = [
            TreeClassifier("gini", pruning="cost_complexity", ccp_alpha=rule).fit(X, y) for rule in ("cv", "one_se")
        ]
        assert models[1].get_n_leaves() <= 10 < TreeClassifier("gini").fit(X, y).get_n_leaves()
    else:
        rng = np.random.default_rng(0)
        x = rng.uniform(size=300)
        y = np.floor(4 * x) + rng.normal(scale=0.05, size=300)
        models = [
            TreeRegressor("variance", pruning="cost_complexity", ccp_alpha=rule).fit({"x": x}, y)
            for rule in ("cv", "one_se")
        ]
        assert all(4 <= model.get_n_leaves() <= 12 for model in models)
    least, one_se = models
    assert list(least.path_) == ["alpha", "leaves", "impurity", "held-out error", "standard error"]
    path = least.path_
    assert path.rows() == one_se.path_.rows()
    error, spread, alphas = (np.array(path[n]) for n in ("held-out error", "standard error", "alpha"))
    best = int(np.argmin(error))
    assert least.alpha_ == alphas[np.flatnonzero(error <= error[best] * (1 + 1e-12))[-1]]
    assert one_se.alpha_ == alphas[np.flatnonzero(error <= error[best] + spread[best])[-1]]
    for model in models:
        assert model.get_n_leaves() == path["leaves"][int(np.flatnonzero(alphas == model.alpha_)[0])]
    assert one_se.get_n_leaves() <= least.get_n_leaves()


@pytest.mark.parametrize("pruning", ["pessimistic", "reduced_error", "cost_complexity"])
def test_no_pruning_is_troubled_by_one_class_or_by_gaps(pruning):
    model = TreeClassifier(pruning=pruning).fit({"x": np.arange(12.0)}, ["a"] * 12)
    assert model.get_n_leaves() == 1
    sample = samples.load("penguins")
    whole, pruned = (TreeClassifier(pruning=p).fit(sample.X, sample.y) for p in (None, pruning))
    assert pruned.get_n_leaves() <= whole.get_n_leaves()
    assert pruned.score(sample.X, sample.y) > 0.9


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"pruning": "pesimistic"}, "pruning"),
        ({"pruning": "pessimistic", "confidence": 0.0}, "confidence"),
        ({"pruning": "pessimistic", "confidence": 0.6}, "confidence"),
        ({"pruning": "pessimistic", "confidence": "low"}, "confidence"),
        ({"pruning": "reduced_error", "validation_fraction": 1.0}, "validation_fraction"),
        ({"pruning": "cost_complexity", "ccp_alpha": -0.1}, "ccp_alpha"),
        ({"pruning": "cost_complexity", "ccp_alpha": np.nan}, "ccp_alpha"),
        ({"pruning": "cost_complexity", "ccp_alpha": "best"}, "ccp_alpha"),
        ({"pruning": "cost_complexity", "cv": 1}, "cv"),
    ],
)
def test_a_wrong_setting_of_pruning_is_named(settings, name):
    X, y = mixed(0)
    with pytest.raises(OptionError, match=name):
        TreeClassifier(**settings).fit(X, y)


def test_trees_of_numbers_have_no_pessimistic_limit():
    with pytest.raises(OptionError, match="pruning"):
        TreeRegressor(pruning="pessimistic").fit({"x": [1.0, 2.0]}, [1.0, 2.0])


def test_a_pruned_tree_with_a_branch_for_missing_values_is_saved_and_loaded(tmp_path):
    rng = np.random.default_rng(1)
    X = {name: rng.normal(size=300).round(1) for name in "ab"}
    X["a"][:30] = np.nan
    model = TreeClassifier(missing="majority", pruning="pessimistic").fit(X, rng.random(300) < 0.5)
    countwise.save(model, tmp_path / "tree.json")
    loaded = countwise.load(tmp_path / "tree.json")
    assert (model.tree_.missing[model.tree_.leaves] == -1).all()
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))


# -- the report --------------------------------------------------------------------------------------------------


def sections_of(report: Any) -> dict[str, Any]:
    return {section.title.split(": ")[0]: section for section in report.sections[1:]}


@pytest.mark.parametrize("confidence", [0.05, 0.25, 0.5])
@pytest.mark.parametrize("seed", range(4))
def test_the_report_of_pessimistic_pruning_has_the_limits_of_the_beta_distribution(confidence, seed):
    rng = np.random.default_rng(seed)
    X = {f"x{j}": rng.integers(0, 3, 80).astype(str).astype(object) for j in range(4)}
    y = np.where(rng.random(80) < 0.7, X["x0"], rng.integers(0, 2, 80).astype(str).astype(object))
    model = TreeClassifier(pruning="pessimistic", confidence=confidence).fit(X, y)
    full = TreeClassifier().fit(X, y)
    report = model.pruning_report()
    table = report.sections[0].table
    assert table.n_rows == (full.tree_.attribute >= 0).sum() > 5
    assert report.value == table["decision"].count("pruned")
    for section, own in zip(report.sections[1:], table.rows()[-20:], strict=True):
        step, node, rows, errors, leaf, subtree, decision = own
        assert section.title.startswith(f"{step}. ")
        assert f"{node}: " in section.title or " and " in section.title
        assert leaf == pytest.approx(
            rows * beta.ppf(1 - confidence, errors + 1, rows - errors) if errors < rows else rows
        )
        for _, leaves, n, wrong, estimate in section.table.rows():
            if leaves == 1 and n:
                assert estimate == pytest.approx(n * beta.ppf(1 - confidence, wrong + 1, n - wrong), rel=1e-9)
        assert subtree == pytest.approx(sum(section.table["estimate"]), rel=1e-12)
        assert sum(section.table["rows"]) == rows
        assert decision == ("pruned" if leaf <= subtree * (1 + 1e-9) else "kept")
        assert section.lines[-1].endswith(decision)


def test_written_limits_have_the_probability_that_defines_them():
    for errors, rows in ((0, 6), (1, 16), (2, 5), (3, 4), (1, 2)):
        *_, last = upper_limit_formulas(errors, rows, 0.25)
        body, result = last.split(" = ")[-2:]
        assert eval(body.replace("·", "*").replace("^", "**")) == pytest.approx(float(result), rel=2e-5)
    assert upper_limit_formulas(5, 14, 0.25) == ["U(5, 14) = 0.483513"]
    assert upper_limit_formulas(0.5, 2.5, 0.25) == [f"U(0.5, 2.5) = {beta.ppf(0.75, 1.5, 2):.6g}"]
    assert upper_limit_formulas(3, 3, 0.25) == ["U(3, 3) = 1"]


def test_the_report_of_reduced_error_pruning_counts_held_out_rows(monkeypatch):
    rng = np.random.default_rng(2)
    X = {f"x{j}": rng.integers(0, 2, 200).astype(str).astype(object) for j in range(4)}
    y = np.where(rng.random(200) < 0.7, X["x0"], rng.integers(0, 2, 200).astype(str).astype(object))
    model, weights = held_out(monkeypatch, lambda: TreeClassifier(pruning="reduced_error").fit(X, y))
    held = weights.astype(bool)
    table = model.pruning_report().sections[0].table
    root = dict(zip(table, table.rows()[-1], strict=True))
    assert root["subtree"] == "all rows"
    assert root["rows"] == held.sum()
    values, counts = np.unique(y[~held], return_counts=True)
    assert root["errors as a leaf"] == (y[held] != values[np.argmax(counts)]).sum()
    asked = {name: column[held] for name, column in X.items()}
    assert root["by its branches"] == (model.predict(asked) != y[held]).sum()  # the root was kept
    assert table["decision"].count("pruned") == model.pruning_report().value > 0


def test_the_report_of_cost_complexity_pruning_has_each_alpha():
    penguins = samples.load("penguins")
    for settings in ({"ccp_alpha": 0.01}, {}):
        model = TreeClassifier("gini", nominal="subset", pruning="cost_complexity", **settings)
        report = model.fit(penguins.frame, "species").pruning_report()
        table = report.sections[0].table
        assert np.unique(np.round(table["alpha"], 12)).tolist() == np.round(model.path_["alpha"][1:], 12).tolist()
        assert table["decision"] == ["pruned" if a <= model.alpha_ else "kept" for a in table["alpha"]]
        assert report.sections[-1].table == model.path_
        for line, alpha in zip(report.sections[1].lines[1::2], table["alpha"][-20:], strict=True):
            body, result = line.removeprefix("alpha = ").split(" = ")
            assert float(result) == pytest.approx(alpha, rel=1e-5)
            assert eval(body) == pytest.approx(alpha, abs=1e-5)


@pytest.mark.parametrize("pruning", ["pessimistic", "reduced_error", "cost_complexity"])
@pytest.mark.parametrize("target", ["class", "number"])
def test_reports_of_every_kind_come_back_from_a_file(pruning, target, tmp_path):
    if (pruning, target) == ("pessimistic", "number"):
        return
    penguins = samples.load("penguins")
    frame = {name: penguins.frame[name] for name in ("species", "bill_length_mm", "island", "body_mass_g")}
    kind, y = (TreeClassifier, "species") if target == "class" else (TreeRegressor, "body_mass_g")
    frame = {
        name: [x for x, m in zip(column, frame["body_mass_g"], strict=True) if m == m]
        for name, column in frame.items()
    }
    model = kind(pruning=pruning, max_depth=4).fit(frame, y)
    countwise.save(model, tmp_path / "m.json")
    back = countwise.load(tmp_path / "m.json")
    assert back.pruning_report().text(80) == model.pruning_report().text(80)
    assert back.tables()["pruning"].n_rows > 2
    assert hasattr(back, "path_") == (pruning == "cost_complexity")
    assert "<b>" in model.pruning_report().html()


STEP = ("all rows", "all rows")


def test_a_tree_without_pruning_has_no_report():
    tennis = samples.load("tennis")
    with pytest.raises(OptionError, match="not pruned"):
        TreeClassifier().fit(tennis.frame, "play").pruning_report()
    stump = TreeClassifier(pruning="pessimistic").fit({"x": [1, 1]}, ["a", "a"])
    assert stump.pruning_report().notes == ("The tree is a single leaf.",)
    older = TreeClassifier(pruning="pessimistic").fit(tennis.frame, "play")
    older._pruning_steps = None
    with pytest.raises(OptionError, match="no record"):
        older.pruning_report()


@pytest.mark.parametrize(
    "wrong",
    [None, 3, [3], [[]], [["a"]], [[*STEP, 14, 5, 6, 5, 3, 1, []]], [[*STEP, "14", 5, 6, 5, 3, True, []]],
     [[*STEP, 14, 5, 1e999, 5, 3, True, []]], [[*STEP, 14, 5, 6, 5, 3, True, [["x"]]]],
     [[*STEP, 14, 5, 6, 5, 3, True, 7]]],
)  # fmt: skip
def test_damaged_steps_of_a_file_are_refused(wrong):
    with pytest.raises(ValueError, match="pruning"):
        recorded_steps(wrong)
    good = [["all rows", "all rows", 14, 5, 6.5, 5, 3, True, [["wind = Weak", 8, 2, 3.0, 1]]]]
    assert [step.to_list() for step in recorded_steps(good)] == good
