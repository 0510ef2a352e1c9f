"""Drawings of trees: as letters, and as SVG that any parser reads."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any

import numpy as np
import pytest

from countwise import RuleClassifier, TreeClassifier, TreeRegressor, samples
from countwise.errors import OptionError
from countwise.plots import draw_tree

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = ["<b>&amp;\"'", "line\nbreak\ttab", "x" * 3000, "</svg>", "]]>", "\x00\x1b\x07 bell", "\ud800", "𝔘 ü"]


def parsed(picture: str) -> ET.Element:
    root = ET.fromstring(picture)
    assert root.tag == f"{SVG}svg"
    return root


def nodes(root: ET.Element) -> list[ET.Element]:
    return [g for g in root.iter(f"{SVG}g") if "node" in g.get("class", "").split()]


def marked(root: ET.Element) -> list[ET.Element]:
    return [g for g in nodes(root) if "on" in g.get("class", "").split()]


def hostile(seed: int = 0, rows: int = 64) -> tuple[dict[str, Any], np.ndarray]:
    rng = np.random.default_rng(seed)
    X = {}
    for i, name in enumerate(HOSTILE):
        column = np.empty(rows, dtype=object)
        column[:] = [HOSTILE[j] for j in (np.arange(rows) >> (i % 3)) % len(HOSTILE)]
        X[name] = column if i % 2 else rng.permutation(rows).astype(float)
    y = np.empty(rows, dtype=object)
    y[:] = [HOSTILE[j] for j in rng.integers(0, len(HOSTILE), rows)]
    return X, y


@pytest.mark.parametrize("direction", [None, "down", "right"])
def test_hostile_names_are_well_formed(direction):
    X, y = hostile()
    model = TreeClassifier().fit(X, y)
    assert model.get_n_leaves() > 8
    picture = draw_tree(model, X, row=3, direction=direction)
    assert picture.encode("utf-8").decode("utf-8") == picture
    root = parsed(picture)
    assert len(nodes(root)) == len(model.tree_)
    numbers = TreeRegressor().fit(X, np.arange(len(y)) % 5)
    assert len(nodes(parsed(draw_tree(numbers, X, row=3, direction=direction)))) == len(numbers.tree_)


def test_every_node_of_a_small_tree_is_there_with_what_it_asks_or_answers():
    tennis = samples.load("tennis")
    model = TreeClassifier().fit(tennis.frame, "play")
    root = parsed(draw_tree(model))
    told = [next(text.text for text in g.iter(f"{SVG}text")) for g in nodes(root)]
    assert sorted(told) == sorted(["outlook?", "wind?", "humidity?", "Yes", "Yes", "Yes", "No", "No"])
    assert len([g for g in nodes(root) if "leaf" in g.get("class", "").split()]) == 5
    words = {text.text for text in root.iter(f"{SVG}text")}
    assert {"Overcast", "Rain", "Sunny", "High", "Normal", "Strong", "Weak", "14 rows", "4 rows"} <= words
    assert not marked(root)


def test_the_path_of_a_row_is_marked():
    tennis = samples.load("tennis")
    model = TreeClassifier().fit(tennis.frame, "play")
    row = {name: column[:1] for name, column in tennis.X.items()}  # Sunny, humidity High
    root = parsed(draw_tree(model, row))
    titles = [g.find(f"{SVG}title").text for g in marked(root)]
    assert titles == [
        "all rows: 5 No, 9 Yes",
        "outlook = Sunny: 3 No, 2 Yes",
        "outlook = Sunny and humidity = High: 3 No, 0 Yes",
    ]
    lines = model.draw(row).split("\n")
    assert [line for line in lines if "◀" in line] == ["   ├━ High: No (3)  ◀"]
    assert [line for line in lines if "━" in line] == ["└━ Sunny: humidity?", "   ├━ High: No (3)  ◀"]
    gap = {**row, "outlook": np.array([None], dtype=object)}
    assert len(marked(parsed(draw_tree(model, gap)))) == 1 + 1 + 2 + 2  # all of outlook; wind Weak; humidity High
    assert model.draw(gap).count("◀") == 3


def test_no_deeper_than_asked():
    sample = samples.load("penguins")
    model = TreeClassifier().fit(sample.X, sample.y)
    depths = model.tree_.depths
    for depth in range(model.get_depth() + 2):
        assert len(nodes(parsed(draw_tree(model, max_depth=depth)))) == np.sum(depths <= depth)
        lines = model.draw(max_depth=depth).split("\n")
        assert len(lines) == np.sum(depths <= depth)
        assert sum(line.endswith(" …") for line in lines) == np.sum((depths == depth) & (model.tree_.attribute >= 0))
    assert model.draw(max_depth=0).startswith("Adelie (344")
    assert model.draw(max_depth=model.get_depth()) == model.draw()


def test_a_tree_with_very_many_leaves_is_drawn_as_deep_as_there_is_room():
    rng = np.random.default_rng(0)
    model = TreeClassifier().fit({"x": rng.normal(size=4000)}, rng.integers(0, 2, 4000))
    assert model.get_n_leaves() > 1000
    root = parsed(draw_tree(model))
    assert 10 < len(nodes(root)) <= 800
    assert len(draw_tree(model)) < 2_000_000


def test_regression_trees_show_means():
    hours = samples.load("hours")
    model = TreeRegressor(max_depth=1).fit(hours.X, hours.y)
    words = {text.text for text in parsed(draw_tree(model)).iter(f"{SVG}text")}
    assert {"outlook?", "49.25", "35.6", "41.8", "Overcast", "4 rows"} <= words
    row = {name: column[:1] for name, column in hours.X.items()}
    assert len(marked(parsed(draw_tree(model, row)))) == 2
    assert model.draw(row).count("◀") == 1


def test_a_tree_of_one_leaf_and_one_of_many_classes():
    one = TreeClassifier().fit({"x": [1.0, 2.0]}, ["a", "a"])
    assert one.draw() == "a (2)"
    assert len(nodes(parsed(draw_tree(one)))) == 1
    assert TreeRegressor().fit({"x": [1.0, 2.0]}, [3.0, 3.0]).draw() == "3 (2)"
    many = TreeClassifier().fit({"x": np.arange(40.0)}, [f"class {i}" for i in range(40)])
    assert len(nodes(parsed(draw_tree(many)))) == len(many.tree_)


def test_a_branch_without_rows_is_drawn():
    X = {"a": list("uuvvw"), "b": list("pqpqp")}
    model = TreeClassifier().fit(X, list("xyxxz"))
    empty = np.flatnonzero(model.tree_.weights(numeric=False) == 0)
    assert model.draw().count("(0)") == len(empty)
    assert len(nodes(parsed(draw_tree(model)))) == len(model.tree_)


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda tree: draw_tree(tree, direction="up"), "direction"),
        (lambda tree: draw_tree(tree, max_depth=-1), "max_depth"),
        (lambda tree: draw_tree(tree, max_depth=1.5), "max_depth"),
        (lambda tree: draw_tree(TreeClassifier()), "not a fitted tree"),
        (lambda tree: draw_tree(RuleClassifier()), "not a fitted tree"),
        (lambda tree: tree.draw(max_depth=-1), "max_depth"),
        (lambda tree: tree.draw(max_depth="two"), "max_depth"),
    ],
)
def test_what_cannot_be_drawn_is_refused(call, word):
    with pytest.raises(OptionError, match=word):
        call(TreeClassifier().fit({"x": [1.0, 2.0]}, ["a", "b"]))


def test_letters_keep_one_line_a_node():
    X, y = hostile()
    model = TreeClassifier().fit(X, y)
    assert len(model.draw().split("\n")) == len(model.tree_)


def test_summary_and_tables_hold_what_the_command_line_prints():
    weather = samples.load("weather")
    tree = TreeClassifier(pruning="cost_complexity", ccp_alpha=0.0).fit(weather.frame, "play")
    head, *drawing = tree.summary().split("\n")
    assert head == "14 rows, 4 attributes; play: a tree of 5 leaves, 2 deep"
    assert [line.removeprefix("  ") for line in drawing] == tree.draw().split("\n")
    tables = tree.tables()
    assert list(tables) == ["rules", "importances", "pruning", "path"]
    assert len(tables["rules"]["if"]) == tree.get_n_leaves()
    rules = RuleClassifier("one_r").fit(weather.frame, "play")
    assert rules.summary().split("\n")[1:] == [f"  {line}" for line in str(rules.rules_).split("\n")]
    assert list(rules.tables()) == ["rules", "errors"]
    many = RuleClassifier("one_r").fit({"id": [f"v{i}" for i in range(20)]}, list("ab") * 10)
    assert many.summary().split("\n")[-1] == "  … and 8 more"  # 12 of 20 rules, and no "otherwise"
