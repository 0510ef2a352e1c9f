"""Laws of case bases: two stages find what all comparisons find, bounds hold, saving keeps all."""

from __future__ import annotations

import string
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from countwise import CaseBase
from countwise.cases import (
    Case,
    LabeledGraph,
    NumberSimilarity,
    RecordSimilarity,
    SetSimilarity,
    StringSimilarity,
    TableSimilarity,
    TaxonomySimilarity,
)

from .strategies import many, some

CONCEPTS = {"a": {"b": ["c", "d"], "e": {"f": None, "g": None}}}
names = st.sampled_from("abcdefg")
words = st.text(string.ascii_lowercase[:4], max_size=5)
numbers = st.integers(-5, 5) | st.floats(-5, 5, width=16)
sets = st.frozensets(st.integers(0, 6), max_size=4)
graphs = st.builds(
    lambda labels, ends, kind: LabeledGraph(
        dict(enumerate(labels)),
        {(min(e), max(e)): (min(e), max(e), kind) for e in ends if max(e) < len(labels)}.values(),
    ),
    st.lists(st.sampled_from("xy"), max_size=4),
    st.sets(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=5),
    st.sampled_from(["p", None]),
)
ATTRIBUTES: dict[str, Any] = {
    "concept": names,
    "name": names,
    "table": names,
    "word": words,
    "number": numbers,
    "least": numbers,
    "set": sets,
    "covered": sets,
    "matched": sets,
    "graph": graphs,
    "own": names,
    "record": st.fixed_dictionaries({}, optional={"x": numbers, "y": names, "z": words}).filter(bool),
}
records = st.fixed_dictionaries({}, optional=ATTRIBUTES).filter(bool)


def own(a: str, b: str) -> float:
    return 1 / (1 + abs(ord(a) - ord(b)))


def base_of(problems: list[dict[str, Any]], missing: str, weights: dict[str, float]) -> CaseBase:
    base = CaseBase(
        similarities={
            "concept": TaxonomySimilarity(CONCEPTS),
            "table": TableSimilarity({("a", "b"): 0.5, ("a", "c"): 0.25}, default=0.125),
            "word": StringSimilarity(),
            "least": NumberSimilarity((2, 5), "at least"),
            "covered": SetSimilarity("covered"),
            "matched": SetSimilarity("matching", NumberSimilarity(3)),
            "own": own,
            "record": RecordSimilarity({"z": StringSimilarity()}, missing="ignore"),
        },
        weights=weights,
        missing=missing,
    )
    for problem in problems:
        base.retain(problem, "u", duplicates="keep")
    return base


weights = st.fixed_dictionaries({}, optional=dict.fromkeys(ATTRIBUTES, st.sampled_from([0.25, 1, 2, 3.5])))
bases = st.builds(base_of, st.lists(records, min_size=1, max_size=12), st.sampled_from(["zero", "ignore"]), weights)


def asked_of(base: CaseBase, record: dict[str, Any]) -> dict[str, Any] | None:
    """What of a record may be asked of a base: only what it can compare by kind."""
    known = set(base.describe()["attribute"])
    query = {name: value for name, value in record.items() if name in known}
    inside = {key for case in base for key in case.problem.get("record", ())} | {"z"}
    if "record" in query:
        query["record"] = {key: value for key, value in query["record"].items() if key in inside}
        if not query["record"]:
            del query["record"]
    return query or None


def by_hand(base: CaseBase, query: dict[str, Any]) -> list[tuple[Any, float]]:
    """Every case compared, then sorted."""
    similarity = base._store.similarity()
    shares = [(case.id, similarity.between(query, case.problem)) for case in base]
    return sorted(shares, key=lambda pair: -round(pair[1], 12))


@many
@given(base=bases, record=records)
def test_two_stages_find_what_comparing_all_finds(base, record):
    query = asked_of(base, record)
    if query is None:
        return
    expected = by_hand(base, query)
    for k in range(1, len(base) + 1):
        assert [(m.case.id, m.similarity) for m in base.retrieve(query, k)] == expected[:k]


@many
@given(base=bases, record=records)
def test_no_similarity_exceeds_its_bound_and_all_lie_from_0_to_1(base, record):
    query = asked_of(base, record)
    if query is None:
        return
    similarity = base._store.similarity()
    exact = np.array([similarity.between(query, case.problem) for case in base])
    assert np.all(exact <= similarity.bounds_over(query, base._store.index()) + 1e-12)
    assert np.all((exact >= 0) & (exact <= 1))


@some
@given(base=bases, forgotten=st.sets(st.integers(1, 12)), more=records, record=records)
def test_a_base_that_grew_and_forgot_equals_a_fresh_one(base, forgotten, more, record):
    base.retrieve(base[1].problem)  # so that there is an index to keep up
    base.retain(more, "v", id="more")
    for name in sorted(forgotten & {case.id for case in base if case.id != "more"}):
        base.forget(name)
    declared = base._store.declared
    fresh = CaseBase(similarities=declared.similarities, weights=declared.weights, missing=declared.missing)
    for case in base:
        fresh.retain(case, duplicates="keep")
    query = asked_of(base, record)
    assert query == asked_of(fresh, record)
    if query is not None:
        assert base.retrieve(query, len(base)) == fresh.retrieve(query, len(base))


@some
@given(base=bases, solution=records, record=records)
def test_a_saved_base_is_the_same_base(base, solution, record, tmp_path_factory):
    base.retain(Case({"name": "q"}, {"@": "tagged", **solution}, "last", outcome={"@": None}, notes="é\n\"'"))
    path = tmp_path_factory.mktemp("cases") / "base.json"
    base.save(path)
    again = CaseBase.load(path, similarities={"own": own})
    assert list(again) == list(base)
    assert again._store.declared == base._store.declared
    query = asked_of(base, record)
    if query is not None:
        assert again.retrieve(query, len(base)) == base.retrieve(query, len(base))
    again.save(path.with_name("twice.json"))
    assert path.with_name("twice.json").read_bytes() == path.read_bytes()
