"""What can happen to the file of a case base: damage, foreign content, functions that are not there."""

from __future__ import annotations

import json
import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import countwise as cw
from countwise import CaseBase
from countwise.cases import Case, LabeledGraph, NumberSimilarity, RecordSimilarity, SetSimilarity
from countwise.errors import CountwiseError, ModelFileError, OptionError
from countwise.jsonfile import enveloped


def near(a, b):
    return 1.0 if a == b else 0.5


def far(a, b):
    return float(a == b)


def double(query, case, solution):
    return solution * 2


def refuse_small(query, case, solution):
    return solution if solution > 20 else None


def plain_base() -> CaseBase:
    graph = LabeledGraph({1: "pump", "v": None}, [(1, "v", 3.5)], directed=True)
    return CaseBase(
        [
            Case(
                {"n": 1, "s": {1, "a", False}, "r": {"x": [1, {"y": None}], "@": "odd"}, "g": graph},
                10,
                "a",
                notes="ü",
            ),
            Case({"n": 2.5, "s": set(), "g": LabeledGraph({})}, 20, 7, outcome={"went": ["well", None]}),
        ],
        similarities={"n": NumberSimilarity((1, 2), "at most"), "s": SetSimilarity("covered")},
        weights={"n": 2, "r": 0.5},
        missing="ignore",
    )


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "base.json"
    plain_base().save(path)
    return path


QUERY = {"n": 2, "s": {"a"}}


def test_what_is_loaded_is_what_was_saved(saved):
    base = plain_base()
    again = CaseBase.load(saved)
    assert list(again) == list(base)
    assert [type(case.id) for case in again] == [str, int]
    assert str(again.solve(QUERY, 2)) == str(base.solve(QUERY, 2))
    again.retain({"n": 3}, 30)
    assert len(again) == 3


def test_the_file_is_plain_json_with_a_version_and_a_checksum(saved):
    document = json.loads(saved.read_text(encoding="utf-8"))
    assert list(document) == ["countwise", "sha256", "model"]
    assert document["model"]["kind"] == "CaseBase"


def test_an_empty_base_can_be_saved(tmp_path):
    CaseBase(weights={"n": 2}).save(tmp_path / "empty.json")
    base = CaseBase.load(tmp_path / "empty.json")
    assert len(base) == 0
    base.retain({"n": 1}, "u")
    assert base.describe()["weight"] == [2]


def test_a_base_whose_last_case_with_a_weighted_attribute_was_forgotten_loads(tmp_path):
    base = CaseBase([Case({"x": 1}, "u", "a"), Case({"y": 1}, "v", "b")], weights={"y": 2}, similarities={"y": near})
    base.forget("b")
    base.save(tmp_path / "b.json")
    assert CaseBase.load(tmp_path / "b.json", similarities={"y": near}).solve({"x": 1}).solution == "u"


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_mutated_file_is_refused_in_one_line_or_is_the_same_base(saved, data):
    raw = bytearray(saved.read_bytes())
    place = data.draw(st.integers(0, len(raw) - 1))
    kind = data.draw(st.sampled_from(["flip", "cut", "drop", "twice"]))
    if kind == "flip":
        raw[place] ^= data.draw(st.integers(1, 255))
    elif kind == "cut":
        raw = raw[:place]
    elif kind == "drop":
        del raw[place]
    else:
        raw[place:place] = raw[max(0, place - 20) : place] or b" "
    other = saved.with_name("mutated.json")
    other.write_bytes(bytes(raw))
    try:
        again = CaseBase.load(other)
    except ModelFileError as error:
        told = str(error)
    else:
        told = ""
        assert list(again) == list(plain_base())
    assert "\n" not in told


def written(place, content):
    place.write_bytes(enveloped(json.dumps(content)))
    return place


SOUND = {"kind": "CaseBase", "similarity": {"@": "record", "similarities": [], "weights": [], "missing": "zero"},
         "functions": {}, "rules": [], "cases": [["a", {"x": 1}, "u", None, ""]]}  # fmt: skip


def test_the_sound_file_of_the_next_test_is_sound(tmp_path):
    assert CaseBase.load(written(tmp_path / "b.json", SOUND)).solve({"x": 1}).solution == "u"


@pytest.mark.parametrize(
    "change",
    [
        {"similarity": {"@": "os.system", "command": "true"}},
        {"similarity": {"@": "equal"}},
        {"similarity": {"@": "function"}},
        {"similarity": {"@": "record", "similarities": [["x", {"@": "function"}]], "weights": [], "missing": "zero"}},
        {"similarity": {"@": "record", "similarities": [["x", {"@": "set", "by": "jaccard", "size": 3}]],
                        "weights": [], "missing": "zero"}},
        {"similarity": {"@": "record", "similarities": [], "weights": [["x", -1]], "missing": "zero"}},
        {"similarity": {"@": "record", "similarities": [["x", {"@": "taxonomy", "tree": [["a", "b"], ["b", "a"]],
                        "root_depth": 0, "below": False}]], "weights": [], "missing": "zero"}},
        {"similarity": None},
        {"cases": [["a", {"x": 1}, "u", None]]},
        {"cases": [["a", {"x": 1}, None, None, ""]]},
        {"cases": [["a", {}, "u", None, ""]]},
        {"cases": [["a", {"x": {"@": "pickle", "of": "gASV"}}, "u", None, ""]]},
        {"cases": [["a", {"x": {"@": "set", "of": [[1]]}}, "u", None, ""]]},
        {"cases": [["a", {"x": {"@": "graph", "nodes": [[1, "a"]], "edges": [[1, 2]], "directed": False}}, "u", None,
                    ""]]},
        {"cases": [["a", {"x": 1}, "u", None, ""], ["a", {"x": 2}, "u", None, ""]]},
        {"cases": 3},
        {"rules": None},
        {"functions": []},
    ],
)  # fmt: skip
def test_an_unsound_file_with_a_right_checksum_is_refused(tmp_path, change):
    place = written(tmp_path / "b.json", SOUND | change)
    with pytest.raises(ModelFileError) as caught:
        CaseBase.load(place)
    assert "\n" not in str(caught.value)


def test_a_range_beyond_64_bits_is_a_number(tmp_path):
    base = CaseBase([({"n": 1}, "u"), ({"n": 2}, "v")], similarities={"n": NumberSimilarity((1, 2**70))})
    base.save(tmp_path / "b.json")
    assert CaseBase.load(tmp_path / "b.json").solve({"n": 1}).solution == "u"


def test_files_of_models_and_of_case_bases_are_told_apart(saved, tmp_path):
    rain = cw.samples.load("rain")
    cw.save(cw.NaiveBayesClassifier().fit(rain.frame, "rain"), tmp_path / "rain.json")
    with pytest.raises(ModelFileError, match=r"contains a model \(NaiveBayes\), not a case base"):
        CaseBase.load(tmp_path / "rain.json")
    with pytest.raises(ModelFileError, match=r"use CaseBase\.load"):
        cw.load(saved)


def test_there_is_no_file(tmp_path):
    with pytest.raises(ModelFileError, match="does not exist"):
        CaseBase.load(tmp_path / "none.json")


def functional() -> CaseBase:
    return CaseBase(
        [({"x": "a", "r": {"y": 1}, "s": [1, 2]}, 10), ({"x": "b", "r": {"y": 2}, "s": [3]}, 11)],
        similarities={
            "x": near,
            "r": RecordSimilarity({"y": far}),
            "s": SetSimilarity("matching", near),
        },
        rules=[double, refuse_small],
    )


GIVEN = {"rules": [refuse_small, double], "similarities": {"x": near, "r.y": far, "s": near}}


def test_functions_are_not_saved_and_must_be_given_again(tmp_path):
    path = tmp_path / "f.json"
    functional().save(path)
    with pytest.raises(OptionError) as caught:
        CaseBase.load(path)
    told = str(caught.value)
    for words in ("the rule 'double'", "the rule 'refuse_small'", "'near' of 'x'", "'far' of 'r.y'", "'near' of 's'"):
        assert words in told
    query = {"x": "a", "r": {"y": 1}, "s": [2]}
    again = CaseBase.load(path, **GIVEN)
    assert str(again.solve(query)) == str(functional().solve(query))
    assert again.solve(query).solution == 22  # doubled first, as before: 20 is refused, and the next case taken


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"rules": [double]}, "the rule 'refuse_small'"),
        ({"rules": [double, refuse_small, near]}, "has no rule 'near'"),
        ({"similarities": {"x": near, "r.y": far}}, "of 's'"),
        ({"similarities": {"x": near, "r.y": far, "s": near, "r.z": far}}, "did you mean 'r.y'"),
    ],
)
def test_loading_with_other_functions_is_refused(tmp_path, change, words):
    functional().save(tmp_path / "f.json")
    with pytest.raises(OptionError, match=words):
        CaseBase.load(tmp_path / "f.json", **(GIVEN | change))


def test_a_base_that_no_file_can_hold_is_refused_and_leaves_the_old_file(saved):
    before = saved.read_bytes()
    base = plain_base()
    base.retain({"n": 5}, "\ud83d\ude00")  # JSON would read it back as one character
    with pytest.raises(ModelFileError, match="surrogate"):
        base.save(saved)
    deep = NumberSimilarity(1)
    for _ in range(30):
        deep = SetSimilarity("matching", deep)
    with pytest.raises(ModelFileError, match="nested"):
        CaseBase(similarities={"s": deep}).save(saved)
    assert saved.read_bytes() == before
    assert os.listdir(saved.parent) == [saved.name]


def test_lone_surrogates_and_keys_like_those_of_the_format_are_read_back_as_they_were(tmp_path):
    base = CaseBase([({"n": "\ud800", "@": "x", "@@": {"@": 1, "of": 2}}, "\udfff")])
    base.save(tmp_path / "b.json")
    assert list(CaseBase.load(tmp_path / "b.json")) == list(base)


def test_the_deepest_record_that_a_base_takes_can_be_saved(tmp_path):
    deep = {"@": [{"x": {1}}]}
    for _ in range(5):
        deep = {"@": deep}
    base = CaseBase([(deep, deep)])
    with pytest.raises(CountwiseError, match="deep"):
        CaseBase([({"@": {"@": deep}}, 1)])
    base.save(tmp_path / "deep.json")
    assert list(CaseBase.load(tmp_path / "deep.json")) == list(base)
