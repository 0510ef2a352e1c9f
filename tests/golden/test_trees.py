"""The worked examples of trees (G42 to G48), through the public interface.

The files of kind `tree` follow the form of this folder's README, and hold:

| field | meaning |
|---|---|
| `[model]` | the arguments of the tree |
| `[entropy]` | of pairs of counts |
| `[[node]]` | by the path `where`: its counts and entropy, what it asks, and of each attribute its gain,
|            | the split's own information, and the gain ratio |
| `[expected]` | the drawing, the rules of each class as lists of conditions, the accuracy on the training rows |
| `[[asked]]` | a row and its class |

G46, G47 and G48 are those of `test_cuts_and_scores.py`; here the tree itself must find them.
"""

from __future__ import annotations

import math
import tomllib
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from countwise import TreeClassifier, TreeRegressor, measures, samples
from countwise.tree.conditions import conditions_to

HERE = Path(__file__).parent
CASES = {
    path.stem: tomllib.loads(path.read_text(encoding="utf-8"))
    for n in range(42, 49)
    for path in sorted(HERE.glob(f"g{n}_*.toml"))
}
TREES = {name: case for name, case in CASES.items() if case["kind"] == "tree"}
NODES = [(name, i) for name, case in TREES.items() for i in range(len(case.get("node", ())))]


def value(text: str) -> float:
    return float(Fraction(text))


def close(ours: float, text: str) -> bool:
    return math.isclose(ours, value(text), rel_tol=1e-12, abs_tol=1e-15)


def case_of(number: str) -> dict[str, Any]:
    return next(case for case in CASES.values() if case["id"] == number)


def fitted(case: dict[str, Any], **more: Any) -> Any:
    sample = samples.load(case["sample"])
    return TreeClassifier(**case.get("model", {}), **more).fit(sample.frame, case["target"])


def node_at(model: Any, where: dict[str, str]) -> int:
    """The node whose path says just this."""
    wanted = {f"{name} = {v}" for name, v in where.items()}
    found = [
        k
        for k in range(len(model.tree_))
        if {str(c) for c in conditions_to(model.tree_, model._features, k)} == wanted
    ]
    assert len(found) == 1
    return found[0]


def test_the_lectures_trees_are_all_here():
    assert [case["id"] for case in CASES.values()] == ["G42", "G43", "G44", "G45", "G46", "G47", "G48"]


def test_entropies_of_pairs_of_counts():
    for pair, bits in case_of("G42")["entropy"].items():
        assert close(measures.entropy(np.array([int(n) for n in pair.split(",")])), bits)


@pytest.mark.parametrize(("name", "i"), NODES)
def test_what_a_node_holds_and_what_each_attribute_gains_there(name: str, i: int):
    case = TREES[name]
    node, model = case["node"][i], fitted(case)
    k = node_at(model, node["where"])
    tree, names = model.tree_, [f.name for f in model._features]
    counts = dict(zip(model.classes_.tolist(), tree.cells[k].tolist(), strict=True))
    assert counts == node["counts"]
    assert close(measures.entropy(tree.cells[k]), node["entropy"])
    if "asks" not in node:
        assert tree.attribute[k] == -1
        return
    assert names[tree.attribute[k]] == node["asks"]
    gains = dict(zip(names, tree.candidates(k).gains.tolist(), strict=True))
    for attribute in names:
        if attribute in node["gain"]:
            assert close(gains[attribute], node["gain"][attribute])
        else:
            assert math.isnan(gains[attribute])  # it was asked above: there is nothing left to split
    ratios = dict(zip(names, tree.candidates(k).scores.tolist(), strict=True))
    for attribute, ratio in node.get("ratio", {}).items():
        assert close(ratios[attribute], ratio)
        assert close(gains[attribute] / ratios[attribute], node["information"][attribute])


@pytest.mark.parametrize("criterion", ["gain", "gain_ratio", "gini"])
def test_id3s_tree_and_its_rules(criterion: str):
    case = case_of("G45")
    sample = samples.load("tennis")
    model = TreeClassifier(criterion).fit(sample.frame, "play")
    assert model.draw() == case["expected"]["drawing"].strip()
    assert model.score(sample.X, sample.y) == value(case["expected"]["training_accuracy"])
    rules = model.rules()
    for answer, conjunctions in case["expected"]["rules"].items():
        ours = [[str(c) for c in rule.conditions] for rule in rules.of(answer)]
        assert sorted(ours) == sorted(conjunctions)
    for query in case["asked"]:
        assert model.predict([query["row"]]).tolist() == [query["predict"]]


def test_the_disjunction_of_conjunctions_of_002():
    model = fitted(case_of("G45"))
    assert set(model.rules().disjunction("Yes").split(" ∨ ")) == {
        "(outlook = Sunny ∧ humidity = Normal)",
        "(outlook = Overcast)",
        "(outlook = Rain ∧ wind = Weak)",
    }


def test_the_tree_finds_the_binary_splits_of_weather():
    case = case_of("G46")
    model = TreeClassifier("gain").fit(samples.load("weather").frame, "play")
    names = [f.name for f in model._features]
    for split in case["split"]:
        k = node_at(model, split.get("where", {}))
        j = names.index(split["column"])
        assert model.tree_.candidates(k).cuts[j] == value(split["cut"])
        assert close(float(model.tree_.candidates(k).gains[j]), split["gain"])


@pytest.mark.parametrize("thresholds", ["exact", "binned"])
def test_the_tie_of_cheat_goes_to_the_first_column(thresholds: str):
    case = case_of("G47")
    sample = samples.load("cheat")
    model = TreeClassifier("gain", thresholds=thresholds).fit(sample.frame, "cheat")
    names = [f.name for f in model._features]
    gains = dict(zip(names, model.tree_.candidates(0).gains.tolist(), strict=True))
    for attribute, gain in case["gain"].items():
        assert close(gains[attribute], gain)
    assert model.tree_.candidates(0).cuts[names.index("income_k")] == 97.5
    assert names[model.tree_.attribute[0]] == "marital"
    turned = dict(reversed(sample.X.items()))
    other = TreeClassifier("gain", thresholds=thresholds).fit(turned, sample.y)
    assert other._features[other.tree_.attribute[0]].name == "income_k"


@pytest.mark.parametrize(("criterion", "falls"), [("sd", "sd_reduction"), ("variance", "variance_reduction")])
def test_the_regression_example(criterion: str, falls: str):
    case = case_of("G48")
    sample = samples.load("hours")
    model = TreeRegressor(criterion, max_depth=1).fit(sample.frame, "hours")
    names = [f.name for f in model._features]
    n, mean, m2 = model.tree_.cells[0]
    assert close(mean, case["expected"]["mean"])
    assert close(math.sqrt(m2 / n), case["expected"]["sd_n"])
    for attribute, fall in case[falls].items():
        assert close(float(model.tree_.candidates(0).gains[names.index(attribute)]), fall)
    assert names[model.tree_.attribute[0]] == "outlook"
    for outlook, leaf in case["expected"]["leaves"].items():
        k = node_at(model, {"outlook": outlook})
        assert close(float(model.tree_.cells[k][1]), leaf)
        row = {name: column[:1] for name, column in sample.X.items()} | {"outlook": np.array([outlook], dtype=object)}
        assert close(float(model.predict(row)[0]), leaf)
