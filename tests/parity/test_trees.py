"""Trees against a slow one written from the definitions, and against scikit-learn's."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from countwise import Ordinal, TreeClassifier, TreeRegressor, samples

NAN = float("nan")
ORDER = ("low", "middle", "high", "top")
OF_CLASSES, OF_NUMBERS = ("gain", "gain_ratio", "gini"), ("sd", "variance")
CRITERIA = (*OF_CLASSES, *OF_NUMBERS)
EQUAL = 1e-10  # scores of small tables are equal, or differ by far more


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """Small tables: a pool of threads for each would take longer than the trees themselves."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COUNTWISE_THREADS", "1")
        yield


# -- a slow tree, from the definitions ----------------------------------------------------------------------------

Part = list[tuple[int, Fraction]]  # rows, and how much of each
Offer = tuple[float, float, list[list[list[Any]]]]


def weight(part: Part) -> Fraction:
    return sum((w for _, w in part), Fraction(0))


def entropy(weights: list[Fraction]) -> float:
    total = sum(weights)
    return -math.fsum(float(w / total) * math.log2(w / total) for w in weights if w)


@dataclass
class Node:
    """What is asked, and where each value goes; a leaf asks nothing."""

    part: Part
    answer: Any = None
    asked: int | None = None
    branch: dict[Any, int] = field(default_factory=dict)  # of names and orders
    cut: float = NAN
    missing: int | None = None  # None: down every branch
    children: list[Node] = field(default_factory=list)


@dataclass
class Slow:
    """A table, and a tree of it: every candidate of every attribute is looked at, row by row, in fractions.

    A column is a list of cells, None where one is missing; kinds are "nominal", "ordinal" and "numeric". Values of
    names and orders are given in the order of their domain.
    """

    columns: list[list[Any]]
    kinds: list[str]
    domains: list[list[Any]]
    y: list[Any]
    weights: list[Fraction]
    criterion: str
    nominal: str
    missing: str
    least: Fraction = Fraction(1)

    @property
    def tolerance(self) -> float:
        """Deviations of sums of squares keep half of their digits."""
        return 1e-7 if self.criterion == "sd" else 1e-12

    def impurity(self, part: Part) -> float:
        total = weight(part)
        if not total:
            return 0.0
        if self.criterion in OF_NUMBERS:
            mean = sum(w * Fraction(self.y[i]) for i, w in part) / total
            variance = sum(w * (Fraction(self.y[i]) - mean) ** 2 for i, w in part) / total
            return float(variance) if self.criterion == "variance" else math.sqrt(variance)
        counts = self.counts(part)
        if self.criterion == "gini":
            return float(1 - sum((n / total) ** 2 for n in counts))
        return entropy(counts)

    def counts(self, part: Part) -> list[Fraction]:
        return [weight([(i, w) for i, w in part if self.y[i] == c]) for c in sorted(set(self.y))]

    def fall(self, part: Part, branches: list[Part]) -> float:
        total = weight(part)
        return self.impurity(part) - math.fsum(float(weight(b) / total) * self.impurity(b) for b in branches)

    def ways(self, known: Part, j: int) -> Iterator[list[list[Any]]]:
        """Every way to deal out the values that a node has."""
        column, there = self.columns[j], {self.columns[j][i] for i, _ in known}
        if self.kinds[j] == "nominal":
            values = [v for v in self.domains[j] if v in there]
            if self.nominal == "multiway":
                yield [[v] for v in values]
            elif self.nominal == "one_vs_rest":
                yield from ([[v], [u for u in values if u != v]] for v in values)
            else:
                rest = values[1:]
                for size in range(len(rest)):
                    for some in combinations(rest, size):
                        yield [[values[0], *some], [u for u in rest if u not in some]]
            return
        values = sorted({column[i] for i, _ in known}, key=self.domains[j].index if self.domains[j] else None)
        yield from ([values[:k], values[k:]] for k in range(1, len(values)))

    def dealt(self, known: Part, j: int, way: list[list[Any]]) -> list[Part]:
        return [[(i, w) for i, w in known if self.columns[j][i] in values] for values in way]

    def sure(self, part: Part, j: int) -> bool:
        """Whether the best groups are promised: by variance and of classes, if every value could be a group."""
        sizes = [weight([(i, w) for i, w in part if self.columns[j][i] == v]) for v in self.domains[j]]
        return self.criterion != "sd" and all(n >= self.least for n in sizes if n)

    def offer(self, part: Part, j: int, way: list[list[Any]] | None = None) -> Offer | None:
        """The gain, the score, and the ways that gain as much among the rows that have a value.

        If a way is given, that which it gains.
        """
        known = [(i, w) for i, w in part if self.columns[j][i] is not None]
        lost = [(i, w) for i, w in part if self.columns[j][i] is None]
        found = []
        for each in self.ways(known, j):
            branches = self.dealt(known, j, each)
            if sum(weight(b) >= self.least for b in branches) >= 2:
                found.append((self.fall(known, branches), each))
        if not found or way not in (None, *(w for _, w in found)):
            return None
        top = max(gain for gain, w in found if way in (None, w))
        best = [w for gain, w in found if gain >= top - EQUAL] if way is None else [way]
        branches = self.dealt(known, j, best[0])
        sizes = [weight(b) for b in branches]
        gain = float(weight(known) / weight(part)) * top
        if self.missing == "majority":
            branches[sizes.index(max(sizes))] += lost
            gain, sizes = self.fall(part, branches), [weight(b) for b in branches]
        else:
            if self.missing == "branch":
                gain = self.fall(part, [*branches, lost])
            sizes.append(weight(lost))
        return gain, gain / entropy(sizes) if self.criterion == "gain_ratio" else gain, best

    def groups(self, part: Part, j: int, said: float) -> Offer | None:
        """The groups that were taken: any of the best; where those are not promised, any that there are."""
        best = self.offer(part, j)
        if best is None or (math.isnan(said) and not self.sure(part, j)):
            return None
        known = [(i, w) for i, w in part if self.columns[j][i] is not None]
        every = [self.offer(part, j, way) for way in (best[2] if self.sure(part, j) else self.ways(known, j))]
        found = [offer for offer in every if offer is not None and abs(offer[0] - said) <= self.tolerance]
        assert found, (part, j, said)
        return found[0][0], found[0][1], [way for offer in found for way in offer[2]]

    def choice(self, part: Part, said: Any) -> tuple[list[Any], int | None]:
        """What each attribute offers, and the one that is asked."""
        n = weight(part)
        if n < 2 * self.least or n < 2 or len({self.y[i] for i, w in part if w}) < 2:
            return [], None
        offers = [
            None
            if self.missing == "fractions" and self.alike(part, j)
            else self.groups(part, j, said[j])
            if kind == "nominal" and self.nominal == "subset"
            else self.offer(part, j)
            for j, kind in enumerate(self.kinds)
        ]
        gains = {j: offer[0] for j, offer in enumerate(offers) if offer is not None}
        if self.criterion == "gain_ratio" and gains:
            few = {j: g for j, g in gains.items() if not self.many(j)} or gains
            average = math.fsum(few.values()) / len(few)
            gains = {j: g for j, g in gains.items() if g >= average - EQUAL and g > EQUAL}
        scores = {j: offers[j][1] for j in gains}  # type: ignore[index]
        if not scores:
            return offers, None
        return offers, min(j for j, s in scores.items() if s >= max(scores.values()) - EQUAL)

    def alike(self, part: Part, j: int) -> bool:
        """Whether some rows lack an attribute, and those that have it are of one kind: it can tell nothing."""
        known = {self.y[i] for i, w in part if w and self.columns[j][i] is not None}
        return len(known) < 2 and any(self.columns[j][i] is None for i, w in part if w)

    def many(self, j: int) -> bool:
        """Whether an attribute has so many values that its gain is no measure for others."""
        branches = self.kinds[j] == "nominal" and self.nominal == "multiway"
        return branches and len(self.domains[j]) >= Fraction(3, 10) * sum(self.weights)

    def answered(self, part: Part) -> Any:
        total = weight(part)
        if self.criterion in OF_NUMBERS:
            return float(sum(w * Fraction(self.y[i]) for i, w in part) / total)
        return np.array([float(n / total) for n in self.counts(part)])

    def grown(self, part: Part, j: int, way: list[list[Any]], above: Any) -> Node:
        """A node that asks for an attribute in one way; its children are leaves yet."""
        node = Node(part, above, asked=j)
        known = [(i, w) for i, w in part if self.columns[j][i] is not None]
        lost = [(i, w) for i, w in part if self.columns[j][i] is None]
        parts = self.dealt(known, j, way)
        sizes = [weight(b) for b in parts]
        if self.missing == "majority":
            node.missing = sizes.index(max(sizes))
            parts[node.missing] += lost
        elif self.missing == "fractions":
            shares = [size / sum(sizes) for size in sizes]
            parts = [b + [(i, w * s) for i, w in lost] for b, s in zip(parts, shares, strict=True)]
        if self.kinds[j] == "numeric":
            low, high = max(way[0]), min(way[1])
            node.cut = low + (high - low) / 2
        else:
            node.branch = {v: b for b, values in enumerate(way) for v in values}
            absent = [v for v in self.domains[j] if v not in node.branch]
            for v in absent:
                if self.kinds[j] == "ordinal":  # the lowest cut
                    node.branch[v] = int(self.domains[j].index(v) > self.domains[j].index(way[0][-1]))
                elif self.nominal == "one_vs_rest":
                    node.branch[v] = 1
                elif self.nominal == "multiway":  # a branch of their own, to which no row comes
                    node.branch[v] = len(way)
            if absent and self.nominal == "multiway" and self.kinds[j] == "nominal":
                parts.append([])
        if self.missing == "branch" and lost:
            node.missing = len(parts)
            parts.append(lost)
        node.children = [Node(b, self.answered(b) if b else above) for b in parts]
        return node

    def asked(self, node: Node, row: list[Any]) -> Any:
        """The answer to a row; one that lacks a value goes down every branch, in the shares of the rows there."""
        if node.asked is None:
            return node.answer
        cell = row[node.asked]
        if cell is not None and self.kinds[node.asked] == "numeric":
            return self.asked(node.children[int(cell > node.cut)], row)
        if cell in node.branch:
            return self.asked(node.children[node.branch[cell]], row)
        if node.missing is not None:  # missing, never met, or met by no row here
            return self.asked(node.children[node.missing], row)
        total = sum(weight(child.part) for child in node.children)
        return sum(float(weight(child.part) / total) * self.asked(child, row) for child in node.children)


def follow(slow: Slow, model: Any) -> Node:
    """Walk down a tree with the definitions: all that it says of each node must be what they say."""
    tree, domains = model.tree_, [model.schema_[f.name] for f in model._features]

    def visit(k: int, part: Part, above: Any = None) -> Node:
        if not part:
            assert tree.attribute[k] == -1
            assert tree.cells[k, 0] == 0
            return Node(part, above)
        answer = slow.answered(part)
        total = float(weight(part))
        if slow.criterion in OF_NUMBERS:
            n, mean, m2 = tree.cells[k]
            assert (n, mean) == pytest.approx((total, answer), rel=1e-12, abs=1e-12)
            variance = slow.impurity(part) ** (2 if slow.criterion == "sd" else 1)
            assert m2 / n == pytest.approx(variance, rel=1e-10, abs=1e-12)
        else:
            np.testing.assert_allclose(tree.cells[k], answer * total, rtol=0, atol=1e-12 * total)
        offers, wanted = slow.choice(part, tree.candidates(k).gains)
        told = np.array([NAN if offer is None else offer[0] for offer in offers] or [NAN] * len(slow.columns))
        np.testing.assert_allclose(
            tree.candidates(k).gains, told, rtol=0, atol=slow.tolerance, err_msg=f"node {k}, {part}"
        )
        assert tree.attribute[k] == (-1 if wanted is None else wanted), (k, part, offers)
        for j, offer in enumerate(offers):
            if offer is not None and slow.kinds[j] == "numeric":
                low, high = max(offer[2][0][0]), min(offer[2][0][1])
                assert tree.candidates(k).cuts[j] == low + (high - low) / 2
        if wanted is None:
            return Node(part, answer)
        node = slow.grown(part, wanted, way_of(k, wanted, offers[wanted][2]), answer)
        first, size = int(tree.children[k]), len(node.children)
        assert (tree.parent[first : first + size] == k).all()
        node.children = [visit(first + b, child.part, answer) for b, child in enumerate(node.children)]
        return node

    def way_of(k: int, j: int, ways: list[Any]) -> list[list[Any]]:
        """The way that the tree took: the first of the best, or of groups any of the best."""
        if slow.kinds[j] == "numeric":
            assert tree.limits_of(k).tolist() == [tree.candidates(k).cuts[j]]
            return ways[0]
        groups = tree.groups_of(k)
        there = {v for values in ways[0] for v in values}
        branch = {v: int(groups[domains[j].values.index(v)]) for v in there}
        taken = [[v for v in domains[j].values if branch.get(v) == b] for b in range(max(branch.values()) + 1)]
        if slow.kinds[j] == "nominal" and slow.nominal == "subset":
            assert taken in ways
        else:
            assert taken == ways[0]
        return taken

    return visit(0, [(i, w) for i, w in enumerate(slow.weights) if w])


NAMES = ("u", "v", "w", "ü")


def table(seed: int, n: int, *, gaps: float, weighted: str, numbers: bool) -> tuple[Any, ...]:
    """Columns of every kind: names, an order, numbers with ties, and counts; and what is to be told."""
    rng = np.random.default_rng(seed)
    raw = {
        "wind": rng.choice(NAMES[: rng.integers(2, 5)], n).tolist(),
        "grade": rng.choice(ORDER[: rng.integers(2, 5)], n).tolist(),
        "x": (rng.integers(-6, 7, n) / 8).tolist(),
        "count": rng.poisson(1.5, n).astype(float).tolist(),
        "name": rng.choice(NAMES[: rng.integers(2, 4)], n).tolist(),
    }
    order = rng.permutation(list(raw))[: rng.integers(2, 6)].tolist()
    columns = [[None if gone else v for v, gone in zip(raw[c], rng.random(n) < gaps, strict=True)] for c in order]
    hint = np.array([(0 if v is None else hash_of(v)) for v in columns[0]]) + rng.integers(0, 3, n)
    y = (hint / 4 + rng.integers(-4, 5, n) / 8).tolist() if numbers else (hint % rng.integers(2, 5)).tolist()
    eighths = {"ones": [8] * n, "whole": 8 * rng.integers(0, 4, n), "fractions": rng.integers(1, 25, n)}[weighted]
    return order, columns, y, [Fraction(int(w), 8) for w in eighths]


def hash_of(value: Any) -> int:
    return len(str(value)) + ord(str(value)[0]) % 5


def frame_of(order: list[str], columns: list[list[Any]]) -> dict[str, np.ndarray]:
    found = {}
    for name, cells in zip(order, columns, strict=True):
        if name in ("x", "count"):
            found[name] = np.array([NAN if v is None else v for v in cells])
        else:
            found[name] = np.empty(len(cells), dtype=object)
            found[name][:] = cells
    return found


def slow_and_fast(seed: int, n: int, gaps: float, weighted: str, settings: dict[str, Any]) -> tuple[Any, ...]:
    numbers = settings["criterion"] in OF_NUMBERS
    order, columns, y, weights = table(seed, n, gaps=gaps, weighted=weighted, numbers=numbers)
    kinds = [{"x": "numeric", "count": "numeric", "grade": "ordinal"}.get(c, "nominal") for c in order]
    types = {"grade": Ordinal("grade", ORDER)} if "grade" in order else {}
    model = (TreeRegressor if numbers else TreeClassifier)(**settings, types=types)
    w = None if weighted == "ones" else np.array([float(w) for w in weights])
    model.fit(frame_of(order, columns), np.array(y), sample_weight=w)
    met = [{v for v, w in zip(cells, weights, strict=True) if w and v is not None} for cells in columns]
    domains = [
        list(ORDER) if kind == "ordinal" else sorted(values) if kind == "nominal" else []
        for kind, values in zip(kinds, met, strict=True)
    ]
    least = Fraction(settings.get("min_samples_leaf", 1))
    rest = (settings["criterion"], settings["nominal"], settings["missing"], least)
    return Slow(columns, kinds, domains, y, weights, *rest), model, order


def assert_same_answers(slow: Slow, root: Node, model: Any, order: list[str]) -> None:
    """To the rows themselves, and to each with one more gap."""
    asked = list(zip(*slow.columns, strict=True))
    asked += [tuple(None if j == i % len(order) else v for j, v in enumerate(row)) for i, row in enumerate(asked)]
    wanted = [slow.asked(root, list(row)) for row in asked]
    frame = frame_of(order, [list(cells) for cells in zip(*asked, strict=True)])
    answers = model.predict(frame) if slow.criterion in OF_NUMBERS else model.predict_proba(frame)
    np.testing.assert_allclose(answers, wanted, rtol=0, atol=1e-12)


@pytest.mark.parametrize("missing", ["fractions", "branch", "majority"])
@pytest.mark.parametrize("nominal", ["multiway", "one_vs_rest", "subset"])
@pytest.mark.parametrize("criterion", CRITERIA)
def test_every_gain_choice_count_and_answer_is_what_the_definitions_give(criterion, nominal, missing):
    settings = {"criterion": criterion, "nominal": nominal, "missing": missing}
    for seed in range(9):
        gaps, weighted = (0.0, 0.15, 0.3)[seed % 3], ("ones", "whole", "fractions")[seed // 3 % 3]
        n = 10 + seed
        slow, model, order = slow_and_fast(seed, n, gaps, weighted, settings)
        assert_same_answers(slow, follow(slow, model), model, order)


@pytest.mark.parametrize("least", [Fraction(2), Fraction(5, 2)])
@pytest.mark.parametrize("criterion", CRITERIA)
def test_branches_that_are_too_light_are_none_by_the_definitions_too(criterion, least):
    for seed in range(6):
        nominal = ("multiway", "one_vs_rest", "subset")[seed % 3]
        settings = {"criterion": criterion, "nominal": nominal, "missing": "fractions"}
        weighted = ("ones", "fractions")[seed % 2]
        slow, model, order = slow_and_fast(
            100 + seed, 18, 0.2, weighted, {**settings, "min_samples_leaf": float(least)}
        )
        assert_same_answers(slow, follow(slow, model), model, order)


def test_an_attribute_that_gains_nothing_counts_for_the_average_gain():
    """Gains of 0.83, 0.65 and 0: the second has the best ratio, and more than the average of all three."""
    y = np.array(list("aaaaaabbbbbb"), dtype=object)
    frame = {
        "six": np.array(list("uuvvwxwxyyzz"), dtype=object),
        "two": np.array(list("uuuuuvvvvvvv"), dtype=object),
        "none": np.array(list("uuuvvvuuuvvv"), dtype=object),
    }
    four = {name: np.repeat(cells, 4) for name, cells in frame.items()}
    tree = TreeClassifier("gain_ratio", max_depth=1).fit(four, np.repeat(y, 4)).tree_
    gains, scores = tree.candidates(0).gains, tree.candidates(0).scores
    assert gains[2] == 0
    assert gains[:2].mean() > gains[1] > gains.mean()
    assert scores[1] > scores[0]
    assert tree.attribute[0] == 1


def test_what_many_values_are_depends_on_the_weight_of_the_rows():
    """Five values are many for 12 rows, and few for 24: then their gain lifts the average, and they are asked."""
    y = np.array(list("aaaaaabbbbbb"), dtype=object)
    frame = {
        "five": np.array(list("uuuvvvvwwxyy"), dtype=object),
        "two": np.array(list("uuuuuvuvvvvv"), dtype=object),
    }
    copies = {name: np.repeat(cells, 2) for name, cells in frame.items()}
    once = TreeClassifier("gain_ratio", max_depth=1).fit(frame, y).tree_
    twice = TreeClassifier("gain_ratio", max_depth=1).fit(frame, y, sample_weight=np.full(12, 2)).tree_
    copied = TreeClassifier("gain_ratio", max_depth=1).fit(copies, np.repeat(y, 2)).tree_
    np.testing.assert_allclose(twice.candidates(0).scores, once.candidates(0).scores, rtol=1e-12)
    assert once.candidates(0).scores[1] > once.candidates(0).scores[0]
    assert once.candidates(0).gains[1] < once.candidates(0).gains.mean()
    assert [tree.attribute[0] for tree in (once, twice, copied)] == [1, 0, 0]


def test_a_node_of_equal_numbers_is_a_leaf():
    frame = {"a": np.array(list("vwuuvw"), dtype=object), "b": np.array([2.0, 0, 3, 3, 3, 0])}
    tree = TreeRegressor("variance").fit(frame, np.array([0, 0, 0.1, 0, 0.2, 0])).tree_
    assert tree.limits_of(0).tolist() == [2.5]
    assert tree.cells[1].tolist() == [3, 0, 0]
    assert tree.attribute[1] == -1


def test_rounding_does_not_decide_between_deviations():
    """Two columns part the rows alike, so that the first is asked."""
    frame = {"a": np.array(list("uuuvv"), dtype=object), "b": np.array([0.0, 0, 0, 1, 1])}
    tree = TreeRegressor("sd", max_depth=1).fit(frame, np.array([0, 0, 0, 0.3, 0.1])).tree_
    np.testing.assert_allclose(tree.candidates(0).gains, np.std([0, 0, 0, 0.3, 0.1]) - 0.4 * 0.1, rtol=1e-7)
    assert tree.attribute[0] == 0


# -- scikit-learn -------------------------------------------------------------------------------------------------


def complete(name: str, target: str) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of a sample, of rows without gaps."""
    frame = samples.load(name).frame
    numbers = [c for c in frame if c != target and frame[c].dtype.kind in "if"]
    X = np.column_stack([frame[c].astype(float) for c in numbers])
    there = ~np.isnan(X).any(axis=1)
    return X[there], frame[target][there]


def data_of(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Numbers that are exact in single precision, for scikit-learn."""
    loaders = {"iris": load_iris, "wine": load_wine, "breast cancer": load_breast_cancer, "digits": load_digits}
    loaders["diabetes"] = load_diabetes
    if name in loaders:
        X, y = loaders[name](return_X_y=True)
    else:
        X, y = complete(*{"penguins": ("penguins", "species"), "credit": ("credit", "Status")}[name])
    return X.astype(np.float32).astype(np.float64), y


def spread_of(y: np.ndarray, w: np.ndarray) -> float:
    """Gini impurity of classes, variance of numbers."""
    if y.dtype.kind == "f":
        return float(np.average((y - np.average(y, weights=w)) ** 2, weights=w))
    return float(1 - ((np.bincount(y, w) / w.sum()) ** 2).sum())


def gain_of(y: np.ndarray, w: np.ndarray, left: np.ndarray) -> float:
    sides = [w[part].sum() / w.sum() * spread_of(y[part], w[part]) for part in (left, ~left)]
    return spread_of(y, w) - sum(sides)


def walk(ours: Any, theirs: Any, X: np.ndarray, y: np.ndarray, w: np.ndarray) -> tuple[int, int]:
    """How many nodes are the same, and how often ways part since two splits are as good; all else is an error."""
    same, ties, numbers = 0, 0, y.dtype.kind == "f"
    close = 1e-12 * spread_of(y, w)
    waiting = [(0, 0, np.arange(len(y)))]
    while waiting:
        a, b, rows = waiting.pop()
        n = ours.cells[a, 0] if numbers else ours.cells[a].sum()
        assert len(rows) == theirs.n_node_samples[b]
        assert n == pytest.approx(theirs.weighted_n_node_samples[b], rel=1e-12)
        told = ours.cells[a, 1] if numbers else ours.cells[a] / n
        np.testing.assert_allclose(told, theirs.value[b].ravel()[0] if numbers else theirs.value[b][0], rtol=1e-12)
        assert (ours.attribute[a] < 0) == (theirs.feature[b] < 0)
        if ours.attribute[a] < 0:
            same += 1
            continue
        feature, threshold = int(ours.attribute[a]), float(ours.limits_of(a)[0])
        left, other = X[rows, feature] <= threshold, X[rows, theirs.feature[b]] <= theirs.threshold[b]
        gain = gain_of(y[rows], w[rows], left)
        assert ours.candidates(a).gains[feature] == pytest.approx(gain, rel=1e-9, abs=close)
        if (feature, threshold) != (theirs.feature[b], theirs.threshold[b]):
            assert gain == pytest.approx(gain_of(y[rows], w[rows], other), rel=0, abs=close)
            ties += 1
            if not np.array_equal(left, other):
                continue  # other rows are below
        same += 1
        first = int(ours.children[a])
        waiting += [
            (first, theirs.children_left[b], rows[left]),
            (first + 1, theirs.children_right[b], rows[~left]),
        ]
    return same, ties


def both(name: str, least: int, seed: int = 0, w: Any = None) -> tuple[Any, Any, np.ndarray, np.ndarray]:
    X, y = data_of(name)
    if name == "diabetes":
        ours, theirs = TreeRegressor("variance", min_samples_leaf=least), DecisionTreeRegressor
    else:
        ours, theirs = TreeClassifier("gini", min_samples_leaf=least), DecisionTreeClassifier
    other = theirs(min_samples_leaf=least, random_state=seed).fit(X, y, sample_weight=w)
    return ours.fit(X, y, sample_weight=w), other, X, y


def numbered(y: np.ndarray) -> np.ndarray:
    return y if y.dtype.kind == "f" else np.unique(y, return_inverse=True)[1]


SETS = ["iris", "wine", "breast cancer", "digits", "penguins", "credit", "diabetes"]


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("least", [1, 10])
def test_every_node_is_scikit_learns_unless_two_splits_are_as_good(name, least):
    ours, theirs, X, y = both(name, least)
    same, _ = walk(ours.tree_, theirs.tree_, X, numbered(y), np.ones(len(y)))
    assert same > 0.4 * len(ours.tree_)
    if least == 1:
        assert ours.score(X, y) == pytest.approx(theirs.score(X, y), rel=1e-12)


@pytest.mark.parametrize("name", ["iris", "wine", "breast cancer", "penguins", "diabetes"])
def test_every_node_is_scikit_learns_for_weighted_rows(name):
    X, y = data_of(name)
    w = 1 + np.random.default_rng(0).integers(0, 64, len(y)) / 64
    ours, theirs, X, y = both(name, 1, w=w)
    same, _ = walk(ours.tree_, theirs.tree_, X, numbered(y), w)
    assert same > 0.4 * len(ours.tree_)


# where splits are as good as others, scikit-learn's seed decides; with these, trees below them are as large
ALIKE = [
    ("iris", 5, 4),
    ("wine", 10, 0),
    ("breast cancer", 20, 0),
    ("digits", 20, 0),
    ("penguins", 10, 0),
    ("credit", 20, 0),
    ("diabetes", 10, 0),
]


@pytest.mark.parametrize(("name", "least", "seed"), ALIKE)
def test_the_root_and_the_size_and_the_score_are_scikit_learns(name, least, seed):
    ours, theirs, X, y = both(name, least, seed)
    assert ours.tree_.attribute[0] == theirs.tree_.feature[0]
    assert ours.tree_.limits_of(0).tolist() == [theirs.tree_.threshold[0]]
    assert len(ours.tree_) == theirs.tree_.node_count
    assert ours.get_depth() == theirs.get_depth()
    assert ours.get_n_leaves() == theirs.get_n_leaves()
    assert ours.score(X, y) == pytest.approx(theirs.score(X, y), rel=1e-12)


@pytest.mark.parametrize(
    ("name", "least", "seed"),
    [
        ("iris", 1, 1),
        ("wine", 5, 2),
        ("penguins", 1, 0),
        ("penguins", 10, 0),
        ("diabetes", 5, 0),
        ("diabetes", 10, 0),
    ],
)
def test_the_path_of_cost_complexity_is_scikit_learns(name, least, seed):
    """Seeds for which scikit-learn's tree is the same, node by node."""
    ours, theirs, X, y = both(name, least, seed)
    assert walk(ours.tree_, theirs.tree_, X, numbered(y), np.ones(len(y)))[0] == len(ours.tree_)
    path = theirs.cost_complexity_pruning_path(X, y)
    # scikit-learn cuts nodes of one alpha one by one
    last = np.append(np.diff(path.ccp_alphas) > 1e-9 * path.ccp_alphas[-1], True)
    ours.set_params(pruning="cost_complexity", ccp_alpha=0.0).fit(X, y)
    np.testing.assert_allclose(ours.path_["alpha"], path.ccp_alphas[last], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(ours.path_["impurity"], path.impurities[last], rtol=1e-9, atol=1e-12)
    for alpha, leaves in zip(ours.path_["alpha"], ours.path_["leaves"], strict=True):
        between = alpha * (1 + 1e-6)
        theirs.set_params(ccp_alpha=between).fit(X, y)
        assert theirs.get_n_leaves() == leaves
        ours.set_params(ccp_alpha=between).fit(X, y)
        assert ours.get_n_leaves() == leaves
        np.testing.assert_allclose(answers_of(ours, X), answers_of(theirs, X), rtol=1e-12, atol=1e-15)


def answers_of(model: Any, X: np.ndarray) -> np.ndarray:
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)
