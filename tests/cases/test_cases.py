"""Case bases: similarities by hand, the whole cycle, backtracking, explanations, bad input."""

from __future__ import annotations

import copy
import json
import math
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest

from countwise import CaseBase
from countwise.cases import (
    Case,
    EqualSimilarity,
    LabeledGraph,
    NumberSimilarity,
    RecordSimilarity,
    SetSimilarity,
    StringSimilarity,
    TableSimilarity,
    TaxonomySimilarity,
)
from countwise.cases.values import Where, counted
from countwise.errors import AdaptationFailed, CountwiseError, OptionError, SchemaError, TableError

TRIPS = {"trip": {"sea": {"bathing": {}, "diving": ["reef", "cave"]}, "hills": ["hiking", "skiing"]}}
PARENTS = {
    "sea": "trip", "hills": "trip", "bathing": "sea", "diving": "sea",
    "reef": "diving", "cave": "diving", "hiking": "hills", "skiing": "hills",
}  # fmt: skip


def bookings(**settings) -> CaseBase:
    """Three bookings whose similarities are easily worked out."""
    cases = [
        Case({"kind": "bathing", "nights": 7, "wishes": {"sun", "pool"}}, {"hotel": "Sol", "price": 700}, id="a"),
        Case({"kind": "diving", "nights": 17, "wishes": {"sun"}}, {"hotel": "Mar", "price": 1700}, id="b"),
        Case({"kind": "hiking", "nights": 2}, {"hotel": "Alm", "price": 150}, id="c"),
    ]
    return CaseBase(cases, similarities={"kind": TaxonomySimilarity(TRIPS)}, **settings)


# Local similarities, by hand


@pytest.mark.parametrize(
    ("asked", "found", "expected"),
    [("a", "a", 1), ("a", "b", 0), (1, 1.0, 1), (1, True, 0), (False, False, 1), ("1", 1, 0)],
)
def test_values_are_equal_or_not(asked, found, expected):
    assert EqualSimilarity().between(asked, found) == expected


@pytest.mark.parametrize(
    ("similarity", "asked", "found", "expected"),
    [
        (NumberSimilarity(50), 100, 120, 0.6),
        (NumberSimilarity(50), 120, 100, 0.6),
        (NumberSimilarity(50), 100, 151, 0.0),
        (NumberSimilarity(0), 3, 3, 1.0),
        (NumberSimilarity(0), 3, 4, 0.0),
        (NumberSimilarity(50, "at least"), 100, 900, 1.0),
        (NumberSimilarity(50, "at least"), 100, 90, 0.8),
        (NumberSimilarity(50, "at most"), 100, 90, 1.0),
        (NumberSimilarity(50, "at most"), 100, 110, 0.8),
        (NumberSimilarity((10, 100)), 100, 95, 0.5),
        (NumberSimilarity((10, 100)), 100, 105, 0.95),
        (NumberSimilarity((10, 100), "at least"), 100, 95, 0.5),
        (NumberSimilarity(1e-300), 1e300, -1e300, 0.0),
    ],
)
def test_numbers_are_compared_over_their_range(similarity, asked, found, expected):
    assert similarity.between(asked, found) == pytest.approx(expected, abs=1e-15)


def test_a_table_given_by_hand_is_symmetric_unless_told_otherwise():
    both = TableSimilarity({("red", "orange"): 0.7, ("red", "red"): 0.9}, default=0.2)
    assert both.between("orange", "red") == both.between("red", "orange") == 0.7
    assert both.between("red", "red") == 0.9
    assert both.between("blue", "blue") == 1
    assert both.between("blue", "red") == 0.2
    one = TableSimilarity({"red": {"orange": 0.7}}, symmetric=False)
    assert (one.between("red", "orange"), one.between("orange", "red")) == (0.7, 0.0)


@pytest.mark.parametrize("tree", [TRIPS, PARENTS, list(PARENTS.items())], ids=["nested", "parents", "pairs"])
@pytest.mark.parametrize(
    ("asked", "found", "expected"),
    [
        ("reef", "reef", 1),
        ("reef", "cave", 2 * 2 / (3 + 3)),
        ("reef", "bathing", 2 * 1 / (3 + 2)),
        ("diving", "reef", 2 * 2 / (2 + 3)),
        ("sea", "reef", 2 * 1 / (1 + 3)),
        ("reef", "hiking", 0),
        ("trip", "reef", 0),
        ("trip", "trip", 1),
    ],
)
def test_concepts_are_compared_by_the_depth_of_what_they_share(tree, asked, found, expected):
    assert TaxonomySimilarity(tree).between(asked, found) == pytest.approx(expected)
    assert TaxonomySimilarity(tree).between(found, asked) == pytest.approx(expected)


def test_the_root_of_a_taxonomy_may_count_and_a_general_wish_may_be_met_by_all_below():
    lifted = TaxonomySimilarity(TRIPS, root_depth=1)
    assert lifted.between("reef", "hiking") == pytest.approx(2 * 1 / (4 + 3))
    assert lifted.between("bathing", "diving") == pytest.approx(2 * 2 / (3 + 3))
    below = TaxonomySimilarity(TRIPS, below=True)
    assert below.between("sea", "reef") == 1
    assert below.between("reef", "sea") == 0.5


def test_a_taxonomy_with_several_roots_has_nothing_in_common_across_them():
    forest = TaxonomySimilarity({"sea": ["bathing", "diving"], "hills": ["hiking"]})
    assert forest.between("bathing", "hiking") == 0
    assert forest.between("bathing", "diving") == 0.5
    assert forest.explain("bathing", "hiking") == "common ancestor (root): 2 × 0 / (2 + 2)"


@pytest.mark.parametrize(
    ("asked", "found", "expected"),
    [("kitten", "sitting", 1 - 3 / 7), ("", "", 1), ("", "ab", 0), ("Pump", "pump", 0.75), ("ab", "ba", 0)],
)
def test_strings_are_compared_by_edits(asked, found, expected):
    assert StringSimilarity().between(asked, found) == pytest.approx(expected)


def test_strings_may_be_compared_without_regard_to_large_letters():
    assert StringSimilarity(ignore_case=True).between("PUMP", "pump") == 1


@pytest.mark.parametrize(
    ("by", "asked", "found", "expected"),
    [
        ("jaccard", {"a", "b"}, {"b", "c", "d"}, 1 / 4),
        ("jaccard", set(), set(), 1),
        ("jaccard", {"a"}, set(), 0),
        ("jaccard", ["a", "a", "b"], ["b", "a"], 1),
        ("jaccard", [{"x": 1}], [{"x": 1}, {"x": 2}], 1 / 2),
        ("covered", {"a", "b"}, {"b", "c", "d"}, 1 / 2),
        ("covered", set(), {"b"}, 1),
        ("matching", {"a", "b"}, {"b", "c", "d"}, 1 / 3),
    ],
)
def test_sets_are_compared_by_what_they_share(by, asked, found, expected):
    assert SetSimilarity(by).between(asked, found) == pytest.approx(expected)


def test_sets_are_matched_so_that_the_sum_is_largest():
    by = SetSimilarity("matching", NumberSimilarity(10))
    # the nearest pair first would be 4 - 3 (0.9), which leaves 0 - 9 (0.1); 0 - 3 (0.7) and 4 - 9 (0.5) are more
    assert by.between({0, 4}, {3, 9}) == pytest.approx((0.7 + 0.5) / 2)
    assert by.between({1, 2, 3}, {2}) == pytest.approx(1 / 3)
    assert by.between(set(), {2}) == 0


def test_records_are_the_weighted_mean_of_their_attributes():
    hotel = RecordSimilarity(
        {
            "stars": NumberSimilarity(4),
            "board": EqualSimilarity(),
            "at": RecordSimilarity({"km": NumberSimilarity(10)}),
        },
        weights={"stars": 3, "at": 2},
    )
    asked = {"stars": 4, "board": "half", "at": {"km": 1}}
    found = {"stars": 3, "board": "full", "at": {"km": 6}}
    assert hotel.between(asked, found) == pytest.approx((3 * 0.75 + 0 + 2 * 0.5) / 6)
    assert hotel.between(asked, {"stars": 3}) == pytest.approx(3 * 0.75 / 6)
    assert hotel.between({"stars": 4}, found) == pytest.approx(0.75)


def test_a_missing_attribute_counts_nothing_or_as_zero():
    asked, found = {"a": 1, "b": 1}, {"a": 1}
    local = {"a": EqualSimilarity(), "b": EqualSimilarity()}
    assert RecordSimilarity(local, {"b": 3}).between(asked, found) == 0.25
    assert RecordSimilarity(local, {"b": 3}, missing="ignore").between(asked, found) == 1
    assert RecordSimilarity(local, missing="ignore").between({"b": 1}, found) == 0


# Defaults


def test_similarities_are_guessed_from_the_values():
    graph = LabeledGraph({1: "x"})
    cases = [
        ({"n": 1, "s": "a", "f": True, "set": {1}, "list": ["p"], "r": {"x": 1}, "g": graph, "mixed": 1}, "u"),
        ({"n": 3.5, "mixed": "one"}, "v"),
    ]
    told = CaseBase(cases).describe()
    assert dict(zip(told["attribute"], told["similarity"], strict=True)) == {
        "n": "NumberSimilarity",
        "s": "EqualSimilarity",
        "f": "EqualSimilarity",
        "set": "SetSimilarity",
        "list": "SetSimilarity",
        "r": "RecordSimilarity",
        "g": "GraphSimilarity",
        "mixed": "EqualSimilarity",
    }


def test_the_range_of_numbers_follows_the_base():
    base = CaseBase([({"n": 0}, "u"), ({"n": 10}, "v")])
    assert base.retrieve({"n": 5})[0].similarity == 0.5
    base.retain({"n": 20}, "w", id="far")
    assert base.retrieve({"n": 5})[0].similarity == 0.75
    base.forget("far")
    assert base.retrieve({"n": 5})[0].similarity == 0.5


def test_ranges_inside_records_and_sets_follow_the_base_too():
    base = CaseBase(
        [({"h": {"n": 0}, "s": [0, 4]}, "u"), ({"h": {"n": 10}, "s": [8]}, "v")],
        similarities={"s": SetSimilarity("matching", NumberSimilarity())},
    )
    assert base.retrieve({"h": {"n": 4}})[0].similarity == pytest.approx(0.6)
    assert base.retrieve({"s": [6]})[0].similarity == pytest.approx(1 - 2 / 8)
    assert base.retrieve({"s": [6]})[0].case.solution == "v"


# Retrieval


def test_at_equal_similarity_the_case_retained_first_comes_first():
    base = CaseBase([({"x": "b"}, 0), ({"x": "a"}, 1), ({"x": "a"}, 2), ({"x": "b"}, 3)])
    assert [m.case.id for m in base.retrieve({"x": "a"}, 4)] == [2, 3, 1, 4]


def test_rounding_never_decides_a_tie():
    names = "abc"
    base = CaseBase(weights={"a": 0.1, "b": 0.2, "c": 0.3})
    base.retain({"a": 1, "b": 1, "c": 0}, "first")  # 0.1 + 0.2 is not 0.3 in floating point
    base.retain({"a": 0, "b": 0, "c": 1}, "second")
    assert [m.case.solution for m in base.retrieve(dict.fromkeys(names, 1), 2)] == ["first", "second"]
    assert base.retrieve(dict.fromkeys(names, 1), 2)[1].similarity == pytest.approx(0.5)


def test_the_first_stage_spares_comparisons_and_says_how_many():
    calls = []

    def slow(a, b):
        calls.append(b)
        return float(a == b)

    cases = [({"group": i % 10, "x": i}, i) for i in range(100)]
    similarities = {"group": EqualSimilarity(), "x": slow}
    base = CaseBase(cases, similarities=similarities, weights={"group": 3})
    found = base.solve({"group": 4, "x": 14})
    assert found.solution == 14
    assert len(set(calls)) == 10  # the others can reach 1/4 at most
    assert str(found.effort) == "10 of 100 cases were compared exactly; no other can be more similar."


def test_candidates_make_retrieval_approximate_and_the_account_says_so():
    base = CaseBase(
        [({"x": "a", "y": "abcdef"}, "wrong"), ({"x": "a", "y": "fedcba"}, "right")],
        similarities={"y": StringSimilarity()},
    )
    query = {"x": "a", "y": "fedcba"}
    assert base.solve(query).solution == "right"
    told = base.solve(query, candidates=1)
    assert told.solution == "wrong"  # by letters alone both are alike
    assert "Note: Approximate: only the best 1 of 2 cases" in str(told)
    assert "Approximate" not in str(base.solve(query))
    assert "Approximate" not in str(base.solve(query, candidates=2))


def test_what_is_handed_out_can_be_changed_without_changing_the_base():
    base = CaseBase([({"r": {"x": [1]}, "s": {1}}, {"done": ["this"]})])
    match = base.retrieve({"s": {1}})[0]
    match.case.problem["r"]["x"].append(2)
    match.case.solution["done"].clear()
    base[1].problem["r"]["x"].append(3)
    next(iter(base)).solution["done"].append("that")
    base.solve({"s": {1}}).solution["done"].append("more")
    assert base[1] == Case({"r": {"x": [1]}, "s": {1}}, {"done": ["this"]}, 1)


def test_what_is_handed_in_can_be_changed_without_changing_the_base():
    problem = {"r": {"x": 1}, "s": {1}}
    base = CaseBase([(problem, "u")])
    problem["r"]["x"] = 2
    problem["s"].add(2)
    assert base[1].problem == {"r": {"x": 1}, "s": {1}}


# Reuse


def vote_base():
    return CaseBase(
        [
            ({"x": 0}, {"name": "u", "n": 10, "on": True, "extra": ["u"]}),
            ({"x": 4}, {"name": "v", "n": 20, "on": False}),
            ({"x": 5}, {"name": "v", "n": 40, "on": False}),
            ({"x": 10}, {"name": "w", "n": 1000, "on": True}),
        ]
    )


def test_solutions_are_combined_by_attribute():
    answer = vote_base().solve({"x": 0}, 3)  # similarities 1, 0.6, 0.5
    assert answer.solution == {
        "name": "v",
        "n": pytest.approx((1 * 10 + 0.6 * 20 + 0.5 * 40) / 2.1),
        "on": False,
        "extra": ["u"],
    }
    assert [(step.attribute, step.how) for step in answer.combined] == [
        ("name", "weighted"), ("n", "mean"), ("on", "weighted"), ("extra", "best"),
    ]  # fmt: skip


def test_the_way_of_combining_can_be_chosen():
    base = vote_base()
    assert base.solve({"x": 0}, 3, combine="best").solution["name"] == "u"
    assert base.solve({"x": 0}, 2, combine="majority").solution["name"] == "u"  # one each: the more similar
    mixed = base.solve({"x": 0}, 3, combine={"n": "best", "on": "majority"}).solution
    assert (mixed["name"], mixed["n"], mixed["on"]) == ("v", 10, False)


def test_single_values_are_combined_too():
    names = CaseBase([({"x": 0}, "u"), ({"x": 4}, "v"), ({"x": 10}, "v")])
    assert names.solve({"x": 0}, 3).solution == "u"  # 1 against 0.6 + 0
    assert names.solve({"x": 0}, 3, combine="majority").solution == "v"
    numbers = CaseBase([({"x": 0}, 10), ({"x": 10}, 30), ({"x": 5}, 20)])
    assert numbers.solve({"x": 0}, 2).solution == pytest.approx((10 + 0.5 * 20) / 1.5)
    assert numbers.solve({"x": 0}).solution == 10


def test_cases_that_have_nothing_in_common_vote_alike():
    base = CaseBase([({"x": "a"}, 1), ({"x": "b"}, 3)])
    assert base.solve({"x": "c"}, 2).solution == 2


def nights(query, case, solution):
    """The price grows with the nights."""
    return solution | {"price": solution["price"] * query["nights"] / case.problem["nights"]}


def open_in_summer(query, case, solution):
    if solution["hotel"] == "Sol":
        raise AdaptationFailed("Sol is closed.")
    return solution


def only_mountains(query, case, solution):
    return solution if case.problem["kind"] == "hiking" else None


def test_rules_adapt_in_their_order_and_are_recorded():
    answer = bookings(rules=[nights]).solve({"kind": "bathing", "nights": 14})
    assert answer.solution == {"hotel": "Sol", "price": 1400}
    step = answer.adaptations[0]
    assert (step.rule, step.says, step.changed) == ("nights", "The price grows with the nights.", True)
    assert (step.before, step.after) == ({"hotel": "Sol", "price": 700}, {"hotel": "Sol", "price": 1400})
    assert not answer.backtracks


def test_a_rule_that_refuses_sends_the_base_to_the_next_case():
    answer = bookings(rules=[nights, open_in_summer]).solve({"kind": "bathing", "nights": 7})
    assert answer.solution == {"hotel": "Mar", "price": 700}
    (back,) = answer.backtracks
    assert (back.id, back.rule, back.reason) == ("a", "open_in_summer", "Sol is closed.")
    assert [step.rule for step in back.adaptations] == ["nights"]
    text = str(answer)
    assert "Rejected" in text
    assert "Sol is closed." in text
    assert "The next case was tried" in text


def test_backtracking_goes_on_until_a_case_fits():
    answer = bookings(rules=[only_mountains]).solve({"kind": "bathing", "nights": 7})
    assert answer.solution["hotel"] == "Alm"
    assert [back.id for back in answer.backtracks] == ["a", "b"]
    assert [back.reason for back in answer.backtracks] == ["rejected", "rejected"]


def test_the_case_that_was_given_up_is_not_combined():
    answer = bookings(rules=[open_in_summer]).solve({"kind": "bathing", "nights": 7}, 2)
    assert [match.case.id for match in answer.cases] == ["b", "c"]


def test_when_no_case_is_left_the_answer_says_so():
    base = bookings(rules=[lambda query, case, solution: None])
    answer = base.solve({"kind": "bathing"})
    assert not answer.solved
    assert answer.solution is None
    assert answer.explain().answer == "No solution: none of 3 cases could be adapted."
    assert len(answer.backtracks) == 3
    with pytest.raises(AdaptationFailed, match="none of 3 cases"):
        base.solve({"kind": "bathing"}, required=True)


def test_cases_that_are_not_similar_enough_are_not_used():
    base = bookings()
    assert base.solve({"kind": "skiing"}, min_similarity=0.5).cases[0].case.id == "c"
    answer = base.solve({"kind": "skiing"}, min_similarity=0.6)
    assert (answer.solution, answer.cases, answer.solved) == (None, (), False)
    told = answer.explain()
    assert told.answer == "No solution: the most similar case, 'c', has similarity 0.5, below 0.6."
    assert told.sections[0].title == "Similarity to case 'c'"
    assert [match.case.id for match in base.retrieve({"kind": "skiing"}, 3, min_similarity=0.5)] == ["c"]
    assert base.retrieve({"kind": "skiing"}, 3, min_similarity=0.6) == []
    revised = base.revise(answer, solution={"hotel": "Alp", "price": 900})
    assert revised.explain().answer == "hotel: Alp, price: 900 (revised)."
    with pytest.raises(AdaptationFailed, match=r"below 0\.6"):
        base.solve({"kind": "skiing"}, min_similarity=0.6, required=True)


@pytest.mark.parametrize("value", [-0.1, 1.5, "high", None, True, float("nan")])
def test_a_similarity_that_is_none_is_refused(value):
    for work in (bookings().solve, bookings().retrieve, bookings().explain):
        with pytest.raises(OptionError, match="min_similarity"):
            work({"kind": "skiing"}, min_similarity=value)


def test_a_rule_cannot_change_the_base_or_the_query():
    def spoil(query, case, solution):
        query.clear()
        case.problem["nights"] = 99
        solution["price"] = 0
        return solution

    base = bookings(rules=[spoil])
    answer = base.solve({"kind": "bathing", "nights": 7})
    assert answer.query == {"kind": "bathing", "nights": 7}
    assert answer.adaptations[0].before == {"hotel": "Sol", "price": 700}
    assert base["a"].solution == {"hotel": "Sol", "price": 700}
    assert base["a"].problem["nights"] == 7


def test_an_error_in_a_rule_is_not_swallowed():
    with pytest.raises(ZeroDivisionError):
        bookings(rules=[lambda query, case, solution: 1 / 0]).solve({"nights": 7})


# Revise and retain


def test_the_cycle_learns():
    base = bookings()
    query = {"kind": "reef", "nights": 16, "wishes": {"sun"}}
    answer = base.solve(query)
    assert answer.solution["hotel"] == "Mar"
    revised = base.revise(answer, solution={"hotel": "Reef Inn", "price": 1500}, outcome="happy", notes="by phone")
    assert (revised.revised, revised.proposed["hotel"]) == (True, "Mar")
    assert answer.solution["hotel"] == "Mar"
    assert base.retain(revised, id="d") == "d"
    again = base.solve(query)
    assert again.solution == {"hotel": "Reef Inn", "price": 1500}
    assert again.cases[0].similarity == 1
    assert base["d"] == Case(query, {"hotel": "Reef Inn", "price": 1500}, "d", "happy", "by phone")
    text = str(revised)
    assert text.startswith("hotel: Reef Inn, price: 1500 (revised).")
    assert "proposed: hotel: Mar, price: 1700" in text
    assert "outcome: happy" in text
    assert "happy" in str(again)


def test_an_answer_without_a_solution_must_be_revised_before_it_is_retained():
    base = bookings(rules=[lambda query, case, solution: None])
    answer = base.solve({"kind": "skiing", "nights": 3})
    with pytest.raises(TableError, match="has no solution"):
        base.retain(answer)
    base.retain(base.revise(answer, solution={"hotel": "Piste", "price": 1}))
    assert len(base) == 4
    assert "proposed: nothing" in str(base.revise(answer, solution="stay at home"))


def test_an_exact_duplicate_is_refused_skipped_or_kept():
    base = CaseBase([({"x": 1, "y": None}, "u")])
    with pytest.raises(OptionError, match="Case 1 has the same problem and solution"):
        base.retain({"x": 1.0}, "u")
    assert base.retain({"x": 1}, "u", duplicates="skip") == 1
    assert len(base) == 1
    assert base.retain({"x": 1}, "u", duplicates="keep") == 2
    assert base.retain({"x": 1}, "v") == 3
    base.forget(1)
    base.forget(2)
    assert base.retain({"x": 1}, "u") in base


def test_a_case_is_replaced_by_id_only_if_asked_and_keeps_its_place():
    base = CaseBase([Case({"x": 1}, "u", "a"), Case({"x": 2}, "v", "b")])
    with pytest.raises(OptionError, match="A case with id 'a' already exists"):
        base.retain({"x": 5}, "w", id="a")
    base.retrieve({"x": 1})
    base.retain({"x": 5}, "w", id="a", replace=True)
    assert [case.id for case in base] == ["a", "b"]
    assert base.retrieve({"x": 5})[0].case.solution == "w"
    assert base.retrieve({"x": 1})[0].case.id == "b"
    base.retain({"x": 5}, "w", id="a", replace=True)
    base.retain({"x": 1}, "u", id="c")


def test_forgetting_leaves_a_base_as_if_the_case_had_never_been_there():
    cases = [Case({"x": i, "s": {i % 3}, "r": {"y": i % 4}}, i, id=f"c{i}") for i in range(12)]
    base = CaseBase(cases)
    base.retrieve({"x": 3})
    assert base.forget("c11").solution == 11
    assert "c11" not in base
    fresh = CaseBase(cases[:-1])
    query = {"x": 7.5, "s": {1}, "r": {"y": 3}}
    assert base.retrieve(query, 11) == fresh.retrieve(query, 11)


def test_ids_are_given_to_cases_without_one():
    base = CaseBase([Case({"x": 1}, "u", 2), Case({"x": 2}, "v")])
    assert [case.id for case in base] == [2, 3]


# Tables


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, dict], ids=["pandas", "polars", "dict"])
def test_a_base_is_made_of_any_table(frame):
    table = frame({"name": ["p", "q"], "wind": ["north", None], "temp": [12.5, 25.0], "play": ["no", "yes"]})
    base = CaseBase.from_table(table, "play", id="name")
    assert base["q"] == Case({"temp": 25.0}, "yes", "q")
    assert base["p"].problem == {"wind": "north", "temp": 12.5}
    both = CaseBase.from_table(table, ["play", "wind"], id="name")
    assert both["q"].solution == {"play": "yes", "wind": None}


def test_a_table_with_gaps_categories_and_dates_is_read_as_plain_values():
    table = pd.DataFrame(
        {
            "c": pd.Categorical(["a", None], categories=["b", "a"]),
            "n": pd.array([1, None], dtype="Int64"),
            "d": pd.to_datetime(["2024-05-01", None]),
            "o": [{"x": 1}, None],
            "y": ["u", "v"],
            "k": [1, 2],
        }
    )
    base = CaseBase.from_table(table, "y")
    assert base[1].problem["c"] == "a"
    assert base[1].problem["n"] == 1
    assert base[1].problem["d"].startswith("2024-05-01")
    assert base[1].problem["o"] == {"x": 1}
    assert base[2].problem == {"k": 2}


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda t: CaseBase.from_table(t, "plya"), SchemaError, "did you mean 'play'"),
        (lambda t: CaseBase.from_table(t, []), TableError, "at least one column of solutions"),
        (lambda t: CaseBase.from_table({"x": [1, 2], "y": ["a", None]}, "y"), TableError, "missing in row 1"),
        (lambda t: CaseBase.from_table({"x": [1, None], "y": ["a", "b"]}, "y"), TableError, "in row 1 is missing"),
        (
            lambda t: CaseBase.from_table({"x": [1, None], "y": [*"ab"], "z": [*"cd"]}, "y", id="x"),
            TableError,
            "id in column 'x' is missing",
        ),
        (
            lambda t: CaseBase.from_table({"x": [1, 1], "z": [1, 2], "y": [*"ab"]}, "y", id="x"),
            OptionError,
            "id 1 already exists",
        ),
    ],
)
def test_a_table_that_is_no_case_base_is_refused(call, error, words):
    with pytest.raises(error, match=words):
        call({"x": [1], "play": ["no"]})


# Accounts


def test_the_account_shows_the_whole_way():
    base = bookings(weights={"kind": 2}, rules=[nights])
    account = base.explain({"kind": "bathing", "nights": 12, "wishes": {"sun", "pool"}}, 2)
    assert (
        account.text()
        == """\
hotel: Sol, price: 1836.73, from case 'a' (similarity 0.916667) and 1 other case, adapted by 1 rule.

Retrieved
  case  similarity  solution
  a       0.916667  hotel: Sol, price: 700
  b       0.541667  hotel: Mar, price: 1700
  2 of 3 cases were compared exactly; no other can be more similar.

Similarity to case 'a'
  attribute  query        case         comparison        similarity  weight  weighted
  kind       bathing      bathing      equal               1              2  2
  nights     12           7            1 - 5 / 15          0.666667       1  0.666667
  wishes     {pool, sun}  {pool, sun}  2 in common of 2    1              1  1
  weighted mean: 3.66667 / 4 = 0.916667

Similarity to case 'b'
  attribute  query        case    comparison                            similarity  weight  weighted
  kind       bathing      diving  common ancestor sea: 2 × 1 / (2 + 2)    0.5            2  1
  nights     12           17      1 - 5 / 15                              0.666667       1  0.666667
  wishes     {pool, sun}  {sun}   1 in common of 2                        0.5            1  0.5
  weighted mean: 2.16667 / 4 = 0.541667

Combined from 2 cases
  attribute  method         computation                                   result
  hotel      weighted vote  Sol: 0.916667, Mar: 0.541667                  Sol
  price      weighted mean  (0.916667 × 700 + 0.541667 × 1700) / 1.45833  1071.43

Adapted
  rule    before                      after
  nights  hotel: Sol, price: 1071.43  hotel: Sol, price: 1836.73
  nights: The price grows with the nights."""
    )


def test_an_account_can_be_written_in_every_form():
    base = bookings(rules=[nights, open_in_summer])
    query = {"kind": "bathing", "nights": 7, "wishes": {"<sun>", "pool & bar"}}
    account = base.explain(query, 2)
    html = account.html()
    assert "&lt;sun&gt;" in html
    assert "<sun>" not in html
    assert r"pool \& bar" in account.latex()
    data = json.loads(json.dumps(account.to_dict(), allow_nan=False))
    titles = [section["title"] for section in data["sections"]]
    similar = ["Similarity to case 'b'", "Similarity to case 'c'"]
    assert titles == ["Rejected", "Retrieved", *similar, "Combined from 2 cases", "Adapted"]
    assert data["value"] == base.solve(query).cases[0].similarity
    json.dumps(base.explain({"nights": 7}, min_similarity=1).to_dict(), allow_nan=False)


def test_the_parts_of_a_similarity_add_up_to_it():
    base = bookings(weights={"kind": 2, "nights": 0.5})
    for match in base.retrieve({"kind": "reef", "nights": 12, "wishes": {"sun"}}, 3):
        above = math.fsum(part.weight * part.similarity for part in match.parts)
        assert match.similarity == pytest.approx(above / 3.5)


def test_nested_and_ignored_attributes_are_told():
    base = CaseBase(
        [({"h": {"stars": 4, "board": "half"}, "x": 1}, "u"), ({"x": 2}, "v")], missing="ignore", weights={"x": 3}
    )
    text = str(base.solve({"h": {"stars": 4, "board": "full"}, "x": 1}))
    assert "h.board" in text
    assert "3.5 / 4 = 0.875" in text
    ignored = str(base.solve({"h": {"stars": 4}, "x": 2}))
    assert "missing: ignored" in ignored
    assert "3 / 3 = 1" in ignored


def test_a_base_can_be_copied_and_pickled():
    base = CaseBase([({"g": LabeledGraph({1: "a"}), "s": {1}}, "u")])
    for twin in (copy.deepcopy(base), pickle.loads(pickle.dumps(base))):
        assert list(twin) == list(base)
        assert twin.solve({"s": {1}}).solution == "u"


# Bad input


def same(a, b):
    return float(a == b)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: CaseBase().solve({"x": 1}), TableError, "empty"),
        (lambda: CaseBase().describe(), TableError, "empty"),
        (lambda: bookings().solve({"nihgts": 3}), TableError, "did you mean 'nights'"),
        (lambda: bookings().solve({"nihgts": None}), TableError, "did you mean 'nights'"),
        (lambda: bookings().solve({}), TableError, "Every attribute of the query is missing"),
        (
            lambda: bookings().solve({"kind": None, "nights": math.nan}),
            TableError,
            "Every attribute of the query is missing",
        ),
        (lambda: bookings().solve(3), TableError, "The query must be a mapping"),
        (lambda: bookings().solve({"kind": "bathin"}), TableError, "did you mean 'bathing'"),
        (
            lambda: bookings().solve({"nights": "seven"}),
            TableError,
            "'nights' of the query is 'seven'; it must be a number",
        ),
        (lambda: bookings().solve({"nights": math.inf}), TableError, "infinite"),
        (lambda: bookings().solve({"nights": 10**400}), TableError, "too large"),
        (lambda: bookings().solve({"wishes": "sun"}), TableError, "must be a set or a list"),
        (lambda: bookings().solve({"nights": 1}, 0), OptionError, "k must be .* not 0"),
        (lambda: bookings().solve({"nights": 1}, True), OptionError, "k must be .* not True"),
        (lambda: bookings().solve({"nights": 1}, candidates=0), OptionError, "candidates must be .* not 0"),
        (lambda: bookings().solve({"nights": 1}, combine="avg"), OptionError, "combine must be .* not 'avg'"),
        (lambda: bookings().solve({"nights": 1}, combine={"prize": "mean"}), OptionError, "did you mean 'price'"),
        (
            lambda: bookings().solve({"nights": 1}, 2, combine={"hotel": "mean"}),
            OptionError,
            "combine='mean' needs numbers, but 'hotel'",
        ),
        (
            lambda: bookings(weights={"nights": 0}).solve({"nights": 1}),
            OptionError,
            "The query has only attributes with weight 0",
        ),
        (lambda: bookings(weights={"nihgts": 1}), OptionError, "did you mean 'nights'"),
        (lambda: bookings(weights={"nights": -1}), OptionError, "-1"),
        (lambda: bookings(weights={"nights": math.nan}), OptionError, "nan"),
        (lambda: bookings(missing="one"), OptionError, "missing must be .* not 'one'"),
        (lambda: bookings(rules=["double"]), OptionError, "rule must be a function"),
        (lambda: bookings(rules=[nights, nights]), OptionError, "Two rules are named 'nights'"),
        (
            lambda: bookings().retain({"kind": "beech"}, "u"),
            TableError,
            "'kind' of the case is 'beech', but the taxonomy has no such concept",
        ),
        (lambda: bookings().retain({"nights": object()}, "u"), TableError, "object"),
        (lambda: bookings().retain({"nights": {1: 2}}, "u"), TableError, "must be strings"),
        (lambda: bookings().retain({"wishes": {("a", "b")}}, "u"), TableError, "use a list"),
        (lambda: bookings().retain({"wishes": {None}}, "u"), TableError, "contains None"),
        (
            lambda: bookings().retain({"x": None}, "u"),
            TableError,
            "Every attribute of the problem of the case is missing",
        ),
        (lambda: bookings().retain({"nights": 3}), TableError, "has no solution"),
        (lambda: bookings().retain({"nights": 3}, "u", id=1.5), TableError, "cannot be the id"),
        (
            lambda: bookings().retain({"nights": 3}, "u", duplicates="drop"),
            OptionError,
            "duplicates must be .* not 'drop'",
        ),
        (lambda: bookings().retain([1], "u"), TableError, "must be a mapping"),
        (lambda: bookings().forget("z"), OptionError, "There is no case with id 'z'"),
        (lambda: bookings()[[1]], OptionError, "There is no case"),
        (lambda: bookings().revise("u", outcome="v"), OptionError, "must be a CaseAnswer"),
        (lambda: bookings().revise(bookings().solve({"nights": 1})), OptionError, "nothing to revise"),
        (lambda: CaseBase({"x": 1}), TableError, "must be a list"),
        (lambda: CaseBase([3]), TableError, "case cannot be of type int"),
        (lambda: CaseBase([Case({"x": 1}, 1, "a"), Case({"x": 2}, 1, "a")]), OptionError, "id 'a' already exists"),
        (
            lambda: CaseBase([({"x": 1}, 1)], similarities={"y": same}),
            OptionError,
            "similarities refers to attribute 'y', but no case",
        ),
        (
            lambda: CaseBase([({"x": 1}, 1)], similarities={"x": "equal"}),
            OptionError,
            "must be a Similarity or a function",
        ),
        (
            lambda: CaseBase([({"x": 1}, 1)], similarities={"x": EqualSimilarity}),
            OptionError,
            r"pass an instance, such as EqualSimilarity\(\)",
        ),
        (lambda: TaxonomySimilarity({"a": "b", "b": "c", "c": "a"}), OptionError, "cycle: a < b < c < a"),
        (lambda: TaxonomySimilarity([("a", "b"), ("a", "c")]), OptionError, "'a' has two parents"),
        (
            lambda: TaxonomySimilarity({"r": {"x": ["a"], "y": ["a"]}}),
            OptionError,
            "'a' is in the taxonomy twice",
        ),
        (lambda: TaxonomySimilarity({}), OptionError, "empty"),
        (lambda: TaxonomySimilarity({"a": {"b": 3}}), OptionError, "must be a mapping or a list, not 3"),
        (lambda: TableSimilarity({("a", "b"): 1.5}), OptionError, "from 0 to 1"),
        (lambda: TableSimilarity({("a", "b"): math.nan}), OptionError, "from 0 to 1"),
        (lambda: TableSimilarity({("a", "b"): 0.1, ("b", "a"): 0.2}), OptionError, "two different similarities"),
        (lambda: NumberSimilarity(-1), OptionError, "range must be .* not -1"),
        (lambda: NumberSimilarity(wanted="more"), OptionError, "wanted must be .* not 'more'"),
        (lambda: NumberSimilarity().between(1, 2), OptionError, "not known outside a case base"),
        (lambda: SetSimilarity("overlap"), OptionError, "by must be .* not 'overlap'"),
        (lambda: SetSimilarity("jaccard", same), OptionError, "elements cannot be combined"),
        (lambda: LabeledGraph({1: "a"}, [(1, 2)]), TableError, "node 2"),
        (lambda: LabeledGraph({1: "a", 2: "b"}, [(1, 2), (2, 1)]), TableError, "two edges"),
        (lambda: LabeledGraph({1.5: "a"}), TableError, "cannot be a node"),
        (lambda: LabeledGraph([1]), TableError, "a mapping of node to label"),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(call, error, words):
    with pytest.raises(error, match=words) as caught:
        call()
    assert isinstance(caught.value, CountwiseError)


@pytest.mark.parametrize("share", [1.5, -0.1, math.nan, None, "1"])
def test_a_function_that_returns_no_similarity_is_named_with_its_values(share):
    def odd(a, b):
        return share

    base = CaseBase([({"color": "red"}, 1)], similarities={"color": odd})
    with pytest.raises(OptionError, match=r"'odd' of 'color' returned .* for 'blue' and 'red'"):
        base.solve({"color": "blue"})


def test_numpy_values_are_as_good_as_pythons():
    base = CaseBase(
        [({"n": np.float32(2), "s": np.array(["a", "b"]), "f": np.bool_(True)}, np.int64(5))],
        similarities={"n": lambda a, b: np.float64(0.5)},
    )
    assert base[1].problem == {"n": 2.0, "s": ["a", "b"], "f": True}
    assert type(base[1].solution) is int
    assert base.solve({"n": 1, "f": True}).cases[0].similarity == 0.75


def test_values_that_python_cannot_hash_are_compared():
    base = CaseBase(
        [({"x": [{"a": [1]}], "y": [1, 2]}, "u"), ({"x": [{"a": [2]}, {"b": {1}}], "y": [2, 1]}, "v")],
        similarities={"y": EqualSimilarity()},
    )
    found = base.retrieve({"x": [{"a": [2]}], "y": [2, 1]}, 2)
    assert [(m.case.solution, m.similarity) for m in found] == [("v", 0.75), ("u", 0)]


def test_what_is_missing_in_a_list_is_left_out_of_problems_and_kept_in_solutions():
    base = CaseBase([({"x": [1, None, math.nan, {"y": None}]}, [1, None, {"y": None}])])
    assert base[1] == Case({"x": [1]}, [1, None, {"y": None}], 1)


def test_a_list_that_holds_itself_is_refused():
    endless: list = []
    endless.append(endless)
    with pytest.raises(TableError, match="nested more than 8 levels deep"):
        CaseBase([({"x": endless}, "u")])


def test_similarities_by_functions_are_described_by_name():
    base = CaseBase([({"x": 1, "y": 2}, "u")], similarities={"x": same}, weights={"y": 2})
    assert base.describe().rows() == [("x", "by same", 1.0, 1), ("y", "NumberSimilarity", 2.0, 1)]
    assert repr(base) == "<case base of 1 case; attributes: 'x', 'y'>"


def test_records_nested_too_deep_are_refused():
    deep: dict = {"x": 1}
    for _ in range(10):
        deep = {"r": deep}
    with pytest.raises(TableError, match="nested more than 8 levels deep"):
        CaseBase([(deep, "u")])


def test_very_large_sets_are_compared_but_not_matched_one_by_one():
    base = CaseBase([({"s": set(range(200_000))}, "u"), ({"s": {1}}, "v")])
    answer = base.solve({"s": set(range(100_000))})
    assert answer.cases[0].similarity == 0.5
    assert len(str(answer)) < 1500
    with pytest.raises(TableError, match="compares at most 500"):
        CaseBase([({"s": set(range(501))}, "u")], similarities={"s": SetSimilarity("matching", NumberSimilarity(1))})


def test_very_long_strings_are_refused_by_letters():
    with pytest.raises(TableError, match="at most 10000"):
        CaseBase([({"s": "x" * 10_001}, "u")], similarities={"s": StringSimilarity()})
    assert CaseBase([({"s": "x" * 10_001}, "u")]).solve({"s": "x" * 10_001}).cases[0].similarity == 1


def test_where_a_value_stands_is_written_with_dots():
    assert str(Where("the query").inside("hotel").inside("stars")) == "'hotel.stars' of the query"
    assert (counted(1, "edge"), counted(2, "edge")) == ("1 edge", "2 edges")
