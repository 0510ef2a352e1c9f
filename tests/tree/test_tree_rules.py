"""Rules of trees and lists of rules, held against conditions that are asked row by row in plain Python."""

from __future__ import annotations

import itertools
from collections import Counter
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import brentq
from scipy.stats import beta, binom

from countwise import Ordinal, RuleClassifier, TreeClassifier, TreeRegressor, load, samples, save
from countwise.errors import OptionError
from countwise.tree.conditions import Condition
from countwise.tree.rules import Rule, RuleSet, SimplifiedRule

LEVELS = ("low", "middle", "high")
SETTINGS = [
    {},
    {"criterion": "gain_ratio", "nominal": "subset"},
    {"criterion": "gini", "nominal": "one_vs_rest"},
    {"numeric": "ranges", "ranges": "class_contiguous"},
    {"missing": "branch"},
    {"missing": "majority", "max_depth": 3},
    {"pruning": "pessimistic", "min_samples_leaf": 2},
]
settings = pytest.mark.parametrize(
    "settings", SETTINGS, ids=[" ".join(map(str, s.values())) or "-" for s in SETTINGS]
)


@cache
def limit(errors: int, n: int, confidence: float) -> float:
    """The error rate at which so few errors are as improbable as `confidence`."""
    if errors >= n:
        return 1.0
    return float(brentq(lambda p: binom.cdf(errors, n, p) - confidence, 0.0, 1.0, xtol=1e-15, rtol=1e-14))


def table(
    seed: int, rows: int = 60, missing_rate: float = 0.0, classes: int = 3
) -> tuple[dict[str, Any], np.ndarray]:
    rng = np.random.default_rng(seed)

    def names(values: Any) -> np.ndarray:
        column = np.empty(rows, dtype=object)
        column[:] = [values[i] for i in rng.integers(0, len(values), rows)]
        column[rng.random(rows) < missing_rate] = None
        return column

    x = rng.normal(size=rows).round(1)
    x[rng.random(rows) < missing_rate] = np.nan
    X = {"w": names("uvwz"), "x": x, "o": names(LEVELS), "i": rng.integers(0, 4, rows).astype(float)}
    told = np.array([v in ("u", "v") for v in X["w"]]) + (np.nan_to_num(x) > 0.3)
    y = np.where(rng.random(rows) < 0.3, rng.integers(0, classes, rows), told % classes)
    return X, np.array(["no", "yes", "perhaps"], dtype=object)[y]


TYPES = {"o": Ordinal("o", LEVELS)}


def rows_of(X: Any) -> list[dict[str, Any]]:
    return [dict(zip(X, row, strict=True)) for row in zip(*X.values(), strict=True)]


def is_missing(cell: Any) -> bool:
    return cell is None or cell != cell


def holds(condition: Condition, row: dict[str, Any]) -> bool:
    cell = row[condition.attribute]
    if condition.missing or is_missing(cell):
        return condition.missing and is_missing(cell)
    if condition.values is not None:
        return cell in condition.values
    if condition.but is not None:
        return cell not in condition.but
    above = condition.low is None or cell > condition.low
    return above and (condition.high is None or cell <= condition.high)


def covers(rule: Rule, row: dict[str, Any]) -> bool:
    return all(holds(condition, row) for condition in rule.conditions)


# -- the rules of a tree -----------------------------------------------------------------------------------------


@settings
@pytest.mark.parametrize("seed", range(3))
def test_each_row_without_gaps_satisfies_one_rule_that_answers_as_the_tree_does(settings, seed):
    X, y = table(seed)
    model = TreeClassifier(types=TYPES, **settings).fit(X, y)
    rules = model.rules()
    assert len(rules) > 1
    inside: dict[int, Counter[Any]] = {i: Counter() for i in range(len(rules))}
    for row, told, answer in zip(rows_of(X), y, model.predict(X), strict=True):
        matching = [i for i, rule in enumerate(rules) if covers(rule, row)]
        assert len(matching) == 1
        assert rules[matching[0]].answer == answer
        inside[matching[0]][told] += 1
    for i, rule in enumerate(rules):
        assert rule.counts == tuple(inside[i][c] for c in rules.classes)
        assert rule.support == inside[i].total() > 0
        assert rule.confidence == pytest.approx(inside[i][rule.answer] / rule.support, rel=1e-12)
        assert inside[i][rule.answer] == max(inside[i].values())
    assert sum(rule.support for rule in rules) == len(y)


@pytest.mark.parametrize("seed", range(3))
def test_gaps_in_a_branch_of_their_own_have_rules_that_say_so(seed):
    X, y = table(seed, missing_rate=0.25)
    model = TreeClassifier(types=TYPES, missing="branch").fit(X, y)
    rules = model.rules()
    said = [c for rule in rules for c in rule.conditions if c.missing]
    assert said
    assert str(said[0]) == f"{said[0].attribute} is missing"
    for row, answer in zip(rows_of(X), model.predict(X), strict=True):
        matching = [rule for rule in rules if covers(rule, row)]
        # a node that no training row with a gap came to sends none down a branch of its own
        assert len(matching) == 1
        assert matching[0].answer == answer


def test_rows_in_parts_are_counted_in_parts():
    X = {"w": np.array(["u", "u", "v", None], dtype=object)}
    rules = TreeClassifier().fit(X, list("aabb")).rules()
    assert [str(rule.conditions[0]) for rule in rules] == ["w = u", "w = v"]
    assert_allclose([rule.counts for rule in rules], [(2, 2 / 3), (0, 1 + 1 / 3)], rtol=1e-12)
    assert_allclose([rule.confidence for rule in rules], [2 / (2 + 2 / 3), 1], rtol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_rules_of_numbers_tell_mean_and_deviation(seed):
    X, y = table(seed)
    numbers = (y == "yes") * 3.0 + np.random.default_rng(seed).normal(size=len(y))
    model = TreeRegressor(types=TYPES, max_depth=3).fit(X, numbers)
    rules = model.rules()
    found = [[i for i, rule in enumerate(rules) if covers(rule, row)] for row in rows_of(X)]
    assert all(len(matching) == 1 for matching in found)
    which = np.array(found)[:, 0]
    for i, rule in enumerate(rules):
        mine = numbers[which == i]
        assert rule.support == len(mine)
        assert rule.answer == pytest.approx(mine.mean(), rel=1e-9, abs=1e-12)
        assert rule.confidence == pytest.approx(mine.std(), rel=1e-9, abs=1e-9)
    assert_allclose(model.predict(X), [rules[i].answer for i in which], rtol=1e-12)


def test_a_class_is_a_disjunction_of_conjunctions():
    tennis = samples.load("tennis")
    rules = TreeClassifier().fit(tennis.frame, "play").rules()
    assert rules.disjunction("No") == "(outlook = Rain ∧ wind = Strong) ∨ (outlook = Sunny ∧ humidity = High)"
    assert [rule.answer for rule in rules.of("No")] == ["No", "No"]
    weather = samples.load("weather")
    numeric = TreeClassifier().fit(weather.frame, "play").rules()
    assert numeric.disjunction("no") == "(outlook = rainy ∧ windy = True) ∨ (outlook = sunny ∧ humidity > 77.5)"
    with pytest.raises(OptionError, match="Yess"):
        rules.disjunction("Yess")


def test_a_tree_of_one_leaf_is_a_rule_without_conditions():
    rules = TreeClassifier().fit({"x": [1.0, 2.0]}, ["a", "a"]).rules()
    assert len(rules) == 1
    assert rules[0].conditions == ()
    assert rules.disjunction("a") == "(always)"
    assert str(rules) == "always a  (2 rows, 100 %)"


def test_a_class_that_no_leaf_answers_is_never():
    rules = TreeClassifier(max_depth=0).fit({"x": [1.0, 2.0, 3.0]}, list("aab")).rules()
    assert rules.disjunction("b") == "never"


def test_conditions_on_one_attribute_are_made_one():
    x = np.arange(8.0)
    rules = TreeClassifier().fit({"x": x}, list("aabbaabb")).rules()
    for rule in rules:
        names = [c.attribute for c in rule.conditions]
        assert len(names) == len(set(names))
    assert [str(rule.conditions[0]) for rule in rules] == ["x <= 1.5", "1.5 < x <= 3.5", "3.5 < x <= 5.5", "x > 5.5"]


# -- simplified rules --------------------------------------------------------------------------------------------


def pessimistic(conditions: Any, answer: Any, rows: Any, y: Any, confidence: float) -> float:
    told = [t for row, t in zip(rows, y, strict=True) if all(holds(c, row) for c in conditions)]
    return limit(sum(t != answer for t in told), len(told), confidence) if told else 1.0


@pytest.mark.parametrize("confidence", [0.1, 0.25])
@pytest.mark.parametrize("seed", range(4))
def test_simplified_rules_never_have_a_larger_pessimistic_error(confidence, seed):
    X, y = table(seed, rows=80)
    tree = TreeClassifier("gain_ratio", min_samples_leaf=2, types=TYPES).fit(X, y)
    rows = rows_of(X)
    shorter = 0
    kept: dict[tuple[frozenset[Condition], Any], float] = {}
    for rule in tree.rules():
        before = pessimistic(rule.conditions, rule.answer, rows, y, confidence)
        conditions = list(rule.conditions)
        while conditions:  # the one without which it errs least, as long as that is no more
            now = pessimistic(conditions, rule.answer, rows, y, confidence)
            without = [
                pessimistic(conditions[:i] + conditions[i + 1 :], rule.answer, rows, y, confidence)
                for i in range(len(conditions))
            ]
            best = int(np.argmin(np.round(without, 12)))
            if without[best] > now + 1e-11:
                break
            conditions.pop(best)
        after = pessimistic(conditions, rule.answer, rows, y, confidence)
        assert after <= before + 1e-11
        shorter += len(conditions) < len(rule.conditions)
        kept[frozenset(conditions), rule.answer] = after
    assert shorter
    model = RuleClassifier(confidence=confidence, types=TYPES).fit(X, y)
    rates = []
    for rule in model.rules_:
        rate = pessimistic(rule.conditions, rule.answer, rows, y, confidence)
        key = frozenset(rule.conditions), rule.answer
        if key not in kept:  # the rows that are left to it are mostly of another class
            assert frozenset(rule.conditions) in {conditions for conditions, _ in kept}
            continue
        assert rate == pytest.approx(kept[key], rel=1e-9)
        rates.append(rate)
    assert rates == pytest.approx(sorted(rates), rel=1e-9)  # the most reliable first


@pytest.mark.parametrize("held", ["pessimistic", "held_out", None])
@pytest.mark.parametrize("method", ["c45", "tree"])
@pytest.mark.parametrize("missing_rate", [0.0, 0.2])
def test_the_first_rule_that_holds_decides(held, method, missing_rate):
    for seed in range(3):
        X, y = table(seed, missing_rate=missing_rate)
        asked, _ = table(seed + 100, missing_rate=0.2)
        model = RuleClassifier(method, simplify=held, types=TYPES).fit(X, y)
        check_list(model, X, y)
        check_list(model, asked, None)


def check_list(model: RuleClassifier, X: Any, y: Any) -> None:
    rules, default = model.rules_, model.default_
    every = [*rules, default]
    first = [next((i for i, rule in enumerate(rules) if covers(rule, row)), len(rules)) for row in rows_of(X)]
    assert_array_equal(model.decides(X), first)
    assert model.predict(X).tolist() == [every[i].answer for i in first]
    assert model.coverage(X) == np.mean(np.array(first) < len(rules))
    shares = model.predict_proba(X)
    assert_allclose(shares.sum(axis=1), 1, rtol=1e-12)
    if y is None:
        return
    for i, rule in enumerate(every):
        mine = Counter(told for told, which in zip(y, first, strict=True) if which == i)
        if not mine:
            continue
        assert rule.counts == tuple(mine[c] for c in rules.classes)
        assert rule.support == mine.total()
        assert rule.confidence == pytest.approx(mine[rule.answer] / mine.total(), rel=1e-12)
        expected = [mine[c] / mine.total() for c in model.classes_]
        assert_allclose(shares[np.array(first) == i], [expected] * mine.total(), rtol=1e-12)


def test_no_rule_that_decides_nothing_and_no_last_rule_that_the_default_repeats():
    for seed in range(6):
        X, y = table(seed)
        rules = RuleClassifier(types=TYPES).fit(X, y).rules_
        assert all(rule.support > 0 for rule in rules)
        if len(rules) and rules.default is not None and rules.default.support > 0:
            assert rules[-1].answer != rules.default.answer


@pytest.mark.parametrize("seed", range(12))
def test_a_list_has_no_default_exactly_where_its_rules_cover_every_row(seed):
    X, y = table(seed)
    for settings in ({"method": "tree"}, {"method": "one_r"}, {"method": "c45"}, {"nominal": "subset"}):
        model = RuleClassifier(types=TYPES, min_samples_leaf=1, **settings).fit(X, y)
        domains = []
        for f in model._features:
            limits = {
                x for rule in model.rules_ for c in rule.conditions for x in (c.low, c.high) if f.name == c.attribute
            }
            values = getattr(f.attribute, "values", [*(x for x in limits if x is not None), 1e9])
            domains.append([(f.name, value) for value in values])
        rows = map(dict, itertools.product(*domains))
        covered = all(any(covers(rule, row) for rule in model.rules_) for row in rows)
        assert (model.rules_.default is None) == (covered and not model.default_.support)
        assert ("otherwise" in str(model.rules_)) == (model.rules_.default is not None)


def test_a_row_with_a_missing_value_gets_the_majority_though_the_rules_cover_every_other():
    tennis = samples.load("tennis")
    model = RuleClassifier("tree", min_samples_leaf=1, confidence=0.5).fit(tennis.frame, "play")
    assert model.rules_.default is None
    assert len(model.rules_.table["if"]) == len(model.rules_) == 5
    assert "otherwise" not in str(model.rules_) + model.summary()
    assert model.predict([{"humidity": "High"}]).tolist() == [model.default_.answer] == ["Yes"]
    assert model.predict_proba([{"humidity": "High"}])[0].tolist() == [5 / 14, 9 / 14]
    assert "otherwise play = Yes" in str(model.explain([{"humidity": "High"}]))


def test_a_list_that_abstains_has_no_otherwise():
    tennis = samples.load("tennis")
    given = TreeClassifier().fit(tennis.frame, "play").rules()[:2]
    model = RuleClassifier(rules=given, default="abstain").fit(tennis.frame, "play")
    assert "otherwise" not in str(model.rules_)
    assert "otherwise no prediction" in str(model.explain([{"outlook": "Sunny"}]))


def test_too_many_cases_keep_the_default():
    rng = np.random.default_rng(0)
    X = {f"x{j}": rng.integers(0, 2, 3000).astype(str).astype(object) for j in range(14)}
    model = RuleClassifier("tree", min_samples_leaf=1, confidence=0.5).fit(X, rng.integers(0, 2, 3000).astype(str))
    assert len(model.rules_) > 500
    assert model.rules_.default is not None


def test_where_no_rule_holds_a_list_gives_the_default_or_abstains():
    tennis = samples.load("tennis")
    rules = TreeClassifier().fit(tennis.frame, "play").rules()
    given = RuleSet(rules.target, rules.classes, rules.rules[:2])
    asked = tennis.X
    open_rows = [i for i, row in enumerate(rows_of(asked)) if not any(covers(rule, row) for rule in given)]
    assert 0 < len(open_rows) < 14
    left = Counter(tennis.y[open_rows].tolist())
    majority = RuleClassifier(rules=given).fit(tennis.frame, "play")
    assert set(majority.predict(asked)[open_rows].tolist()) == {left.most_common(1)[0][0]}
    abstains = RuleClassifier(rules=given, default="abstain").fit(tennis.frame, "play")
    answers, shares = abstains.predict(asked), abstains.predict_proba(asked)
    decided = [i for i in range(14) if i not in open_rows]
    assert [answers[i] for i in open_rows] == [None] * len(open_rows)
    assert np.isnan(shares[open_rows]).all()
    assert answers[decided].tolist() == majority.predict(asked)[decided].tolist()
    assert_allclose(shares[decided], majority.predict_proba(asked)[decided])
    assert abstains.coverage(asked) == len(decided) / 14
    told = str(abstains.explain(asked, row=open_rows[0]))
    assert told.startswith("No rule holds")


# -- one rule ----------------------------------------------------------------------------------------------------


def test_outlook_is_the_one_rule_of_tennis():
    tennis = samples.load("tennis")
    model = RuleClassifier("one_r").fit(tennis.frame, "play")
    assert {c.attribute for rule in model.rules_ for c in rule.conditions} == {"outlook"}
    assert np.sum(model.predict(tennis.X) != tennis.y) == 4
    errors = dict(zip(model.errors_["attribute"], model.errors_["errors"], strict=True))
    # temperature: 2 + 2 + 1, humidity: 3 + 1, wind: 2 + 3; humidity errs as little, and stands behind
    assert errors == {"outlook": 4, "temperature": 5, "humidity": 4, "wind": 5}
    assert_allclose(model.errors_["accuracy"], [10 / 14, 9 / 14, 10 / 14, 9 / 14])


@pytest.mark.parametrize("seed", range(6))
def test_one_rule_of_names_errs_least_of_all_attributes(seed):
    X, y = table(seed, missing_rate=0.15)
    X = {"w": X["w"], "o": X["o"], "i": np.array([f"n{int(v)}" for v in X["i"]], dtype=object)}
    model = RuleClassifier("one_r").fit(X, y)

    def errors(column: Any) -> int:
        inside: dict[Any, Counter[Any]] = {}
        for cell, told in zip(column, y, strict=True):
            inside.setdefault(cell, Counter())[told] += 1
        return sum(n.total() - max(n.values()) for n in inside.values())

    every = {name: errors(column) for name, column in X.items()}
    assert dict(zip(model.errors_["attribute"], model.errors_["errors"], strict=True)) == pytest.approx(every)
    best = min(every, key=every.__getitem__)
    assert {c.attribute for rule in model.rules_ for c in rule.conditions} == {best}
    assert np.sum(model.predict(X) != y) == every[best]


def ranges_of(x: np.ndarray, y: np.ndarray, n: int) -> int:
    """Holte's ranges: each is filled until a class has n rows in it, then as long as that class goes on.

    Equal numbers are never parted; neighbors with the same commonest class are joined. Returns how much they err.
    """
    order = np.argsort(x, kind="stable")
    values = [(v, [y[i] for i in order if x[i] == v]) for v in sorted(set(x.tolist()))]
    ranges: list[Counter[Any]] = []
    now: Counter[Any] = Counter()
    for i, (_, told) in enumerate(values):
        now.update(told)
        following = values[i + 1][1] if i + 1 < len(values) else None
        most = max(now.values())
        first = min(c for c in now if now[c] == most)
        if following is None or (most >= n and any(t != first for t in following)):
            ranges.append(now)
            now = Counter()
    joined: list[tuple[Any, Counter[Any]]] = []
    for one in ranges:
        first = min(c for c in one if one[c] == max(one.values()))
        if joined and joined[-1][0] == first:
            joined[-1][1].update(one)
        else:
            joined.append((first, one))
    return sum(inside.total() - inside[answer] for answer, inside in joined)


def test_ranges_of_one_rule_hold_n_rows_of_a_class():
    # Holte's way with the temperatures of the lectures' weather
    weather = samples.load("weather")
    X = {"temperature": weather.X["temperature"]}
    model = RuleClassifier("one_r", n=3).fit(X, weather.y)
    assert np.sum(model.predict(X) != weather.y) == model.errors_["errors"][0]
    assert model.errors_["errors"][0] == ranges_of(X["temperature"], weather.y, 3)


@pytest.mark.parametrize("n", [2, 4, 6])
@pytest.mark.parametrize("seed", range(4))
def test_one_rule_of_numbers_cuts_ranges_as_holte_does(n, seed):
    rng = np.random.default_rng(seed)
    x = rng.permutation(60).astype(float)
    y = np.where(rng.random(60) < 0.25, rng.integers(0, 3, 60), (x // 25).astype(int))
    model = RuleClassifier("one_r", n=n).fit({"x": x}, y)
    assert model.errors_["errors"] == [ranges_of(x, y, n)]
    assert np.sum(model.predict({"x": x}) != y) == model.errors_["errors"][0]
    for before, after in itertools.pairwise(model.rules_):
        assert before.conditions[0].high == after.conditions[0].low
        assert before.answer != after.answer


def test_gaps_are_a_value_of_their_own_in_one_rule():
    X = {"w": np.array(["u", "u", "v", None, None], dtype=object)}
    model = RuleClassifier("one_r").fit(X, list("aabbb"))
    assert [str(rule.conditions[0]) for rule in model.rules_] == ["w = u", "w = v", "w is missing"]
    assert model.predict(X).tolist() == list("aabbb")


# -- rules by hand, files ----------------------------------------------------------------------------------------


HAND = RuleSet(
    "play",
    ("No", "Yes"),
    (
        Rule((Condition("humidity", values=("High",)), Condition("outlook", but=("Overcast",))), "No", 0, 0),
        Rule((Condition("wind", missing=True),), "No", 0, 0),
        Rule((Condition("outlook", values=("Overcast", "Rain")),), "Yes", 0, 0),
    ),
)


def test_rules_given_by_hand_are_used_as_they_are_and_counted():
    tennis = samples.load("tennis")
    model = RuleClassifier(rules=HAND).fit(tennis.frame, "play")
    assert [rule.conditions for rule in model.rules_] == [rule.conditions for rule in HAND]
    check_list(model, tennis.X, tennis.y)
    gap = {name: column[:1].copy() for name, column in tennis.X.items()}
    gap |= {"humidity": np.array(["Normal"], dtype=object), "wind": np.array([None], dtype=object)}
    assert model.decides(gap).tolist() == [1]
    assert model.predict_proba(gap).tolist() == [[1.0, 0.0]]  # it decided no training row, and is trusted


def test_rules_by_hand_over_numbers():
    rules = RuleSet("class", ("a", "b"), (Rule((Condition("x", low=1.0, high=2.0),), "b", 0, 0),))
    model = RuleClassifier(rules=rules).fit({"x": [0.0, 1.0, 1.5, 2.0, 3.0]}, list("aabba"))
    assert model.predict({"x": [1.0, 1.0000001, 2.0, 2.1, np.nan]}).tolist() == list("abbaa")


@pytest.mark.parametrize(
    ("rule", "word"),
    [
        (Rule((Condition("outlok", values=("Rain",)),), "No", 0, 0), "outlok"),
        (Rule((Condition("outlook", values=("Rain",)),), "Never", 0, 0), "Never"),
    ],
)
def test_rules_that_do_not_fit_the_table_are_refused(rule, word):
    tennis = samples.load("tennis")
    with pytest.raises(OptionError, match=word):
        RuleClassifier(rules=RuleSet("play", ("No", "Yes"), (rule,))).fit(tennis.frame, "play")


@pytest.mark.parametrize(
    "wrong",
    [
        {"method": "c5"},
        {"simplify": "all"},
        {"default": "none"},
        {"n": 0},
        {"rules": "if"},
        {"confidence": 0.0},
        {"validation_fraction": 1.5},
    ],
    ids=lambda wrong: next(iter(wrong)),
)
def test_a_wrong_setting_of_rules_is_named(wrong):
    X, y = table(0)
    with pytest.raises(OptionError, match=next(iter(wrong))):
        RuleClassifier(**wrong).fit(X, y)


@pytest.mark.parametrize(
    "model",
    [
        RuleClassifier(types=TYPES),
        RuleClassifier("tree", nominal="subset", types=TYPES),
        RuleClassifier("one_r", n=3, types=TYPES),
        RuleClassifier(default="abstain", smoothing="laplace", types=TYPES),
    ],
    ids=["c45", "tree", "one_r", "abstain"],
)
def test_rules_come_back_from_a_file_as_they_were(model, tmp_path):
    X, y = table(5, missing_rate=0.1)
    asked, _ = table(105, missing_rate=0.2)
    model.fit(X, y)
    save(model, tmp_path / "rules.cw")
    back = load(tmp_path / "rules.cw")
    assert back.rules_ == model.rules_
    assert str(back.rules_) == str(model.rules_)
    assert back.rules_.to_dict() == model.rules_.to_dict()
    assert_array_equal(back.predict(asked), model.predict(asked))
    assert_array_equal(back.predict_proba(asked), model.predict_proba(asked))
    assert back.get_params().keys() == model.get_params().keys()


def test_rules_by_hand_come_back_from_a_file(tmp_path):
    tennis = samples.load("tennis")
    model = RuleClassifier(rules=HAND).fit(tennis.frame, "play")
    save(model, tmp_path / "rules.cw")
    back = load(tmp_path / "rules.cw")
    assert back.rules_ == model.rules_
    assert [rule.conditions for rule in back.rules] == [rule.conditions for rule in HAND]
    again = RuleClassifier(rules=back.rules).fit(tennis.frame, "play")
    assert again.rules_ == model.rules_


def test_rules_as_a_table():
    tennis = samples.load("tennis")
    rules = RuleClassifier().fit(tennis.frame, "play").rules_
    frame = rules.table.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert frame["rows"].sum() == 14
    assert frame["if"].tolist() == [*(rule.text for rule in rules), "otherwise"]


def test_more_classes_than_two_and_rules_for_each():
    sample = samples.load("penguins")
    model = RuleClassifier().fit(sample.X, sample.y)
    assert {rule.answer for rule in (*model.rules_, model.rules_.default)} == set(model.classes_)
    assert model.score(sample.X, sample.y) > 0.93
    check_list(model, sample.X, sample.y)


def test_the_explanation_names_the_rule_that_decides_and_what_fails_before_it():
    sample = samples.load("penguins")
    model = RuleClassifier().fit(sample.X, sample.y)
    which = model.decides(sample.X)
    for i in (0, 100, 200, 300, 3):
        account = model.explain(sample.X, row=i)
        told = account.sections[0].table["holds"]
        assert str(account).startswith(f"{model.target_.name} = {model.predict(sample.X)[i]} with ")
        assert len(told) == min(which[i], 12) + 1
        assert told[-1].startswith("yes")
        assert all(line.startswith("no: ") for line in told[:-1])


# -- the report of the simplification ----------------------------------------------------------------------------


@pytest.mark.parametrize("missing_rate", [0.0, 0.15])
@pytest.mark.parametrize("confidence", [0.1, 0.4])
@pytest.mark.parametrize("seed", range(3))
def test_the_report_counts_what_each_rule_covers_without_each_condition(seed, confidence, missing_rate):
    X, y = table(seed, missing_rate=missing_rate)
    model = RuleClassifier(types=TYPES, min_samples_leaf=1, confidence=confidence).fit(X, y)
    tree = TreeClassifier("gain_ratio", types=TYPES).fit(X, y).rules()
    report = model.simplification_report()
    before, after = (report.sections[0].table[name] for name in ("rule of the tree", "simplified"))
    assert before == [rule.written for rule in tree]
    dropped, shown = 0, iter(report.sections[1:])
    for rule, short in zip(tree, after, strict=True):
        section = next(shown, None)
        if section is None:
            break
        conditions, per_step = list(rule.conditions), {}
        for step, *own in section.table.rows():
            per_step.setdefault(step, []).append(own)
        for lines in per_step.values():
            tried = [conditions, *([c for c in conditions if c is not one] for one in conditions)]
            assert [line[0] for line in lines] == ["(nothing)", *map(str, conditions)]
            for (_, n, errors, rate), some in zip(lines, tried, strict=True):
                told = [c for c, row in zip(y, rows_of(X), strict=True) if all(holds(one, row) for one in some)]
                assert n == len(told)
                assert errors == sum(c != rule.answer for c in told)
                limit = beta.ppf(1 - confidence, errors + 1, n - errors) if errors < n else 1.0
                assert rate == pytest.approx(limit, rel=1e-9)
            rates = [line[3] for line in lines[1:]]
            if min(rates) <= lines[0][3] + 1e-12:
                conditions.pop(int(np.argmin(rates)))
                dropped += 1
        if short != "the same as an earlier rule":
            assert short == (f"if {' and '.join(map(str, conditions))} then {rule.answer}" if conditions
                             else f"always {rule.answer}")  # fmt: skip
    assert report.value >= dropped > 0


def test_the_report_of_held_out_rows_and_models_without_one(tmp_path):
    tennis = samples.load("tennis")
    held = RuleClassifier(min_samples_leaf=1, simplify="held_out").fit(tennis.frame, "play")
    assert list(held.simplification_report().sections[-1].table)[-1] == "error rate"
    save(held, tmp_path / "rules.cw")
    assert str(load(tmp_path / "rules.cw").simplification_report()) == str(held.simplification_report())
    for settings in ({"method": "tree"}, {"method": "one_r"}, {"simplify": None}, {"rules": held.rules_}):
        with pytest.raises(OptionError, match="were dropped"):
            RuleClassifier(**settings).fit(tennis.frame, "play").simplification_report()


@pytest.mark.parametrize(
    "wrong",
    [None, ["a", "b", False], ["a", "b", 0, []], ["a", "b", False, [[1, 0, 0.5, [], 0]]],
     ["a", "b", False, [[1, 0, "x", [], -1]]], ["a", "b", False, [[1, 0, 0.5, [["w", 1, 0]], -1]]]],
)  # fmt: skip
def test_a_damaged_record_of_a_file_is_refused(wrong):
    with pytest.raises(ValueError, match="simplified rule"):
        SimplifiedRule.from_list(wrong)


def test_rules_as_latex_escape_names():
    rules = TreeClassifier().fit({"a_b": ["x&y", "50 %"]}, ["p", "q"]).rules()
    assert r"if a\_b = 50 \% then" in rules.latex()
    assert rules.latex(40).startswith(r"\begin{enumerate}")
    assert RuleSet("y", (), ()).latex() == ""
    with pytest.raises(OptionError, match="width"):
        rules.latex("wide")
