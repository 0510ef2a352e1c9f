"""The worked examples of ranges, scores and subsets (G46 to G53), through the public interface.

The files follow the form of this folder's README, with these kinds:

| kind | what the file holds |
|---|---|
| `splits` | `[[split]]`: the best binary cut of a column (of the rows `where`), its gain, what MDL needs of it |
| `gains`, `scores` | `[gain]`, `[chi_square]`, ... of each attribute; `edges` by hand; `tie`: equal gains |
| `means` | `[expected]`: mean, deviation (over N), means of the leaves; by how much the spread falls |
| `pmi` | `[pmi.<value>]` of each class |
| `cuts` | `[[cut]]`: a rule with its settings and its edges; `[[refused]]`: the best cut that MDL does not make |
| `search` | `[right]`: rows classified rightly for each subset; what each search passes through |
"""

from __future__ import annotations

import math
import re
import tomllib
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from countwise import (
    Binned,
    Discretizer,
    FilterSelector,
    NaiveBayesClassifier,
    WrapperSelector,
    cuts,
    measures,
    samples,
)
from countwise.errors import DataWarning
from countwise.feature_selection import attribute_scores, pmi
from countwise.tallies import Values

HERE = Path(__file__).parent
FILES = [path for n in range(46, 54) for path in sorted(HERE.glob(f"g{n}_*.toml"))]
CASES = {path.stem: tomllib.loads(path.read_text(encoding="utf-8")) for path in FILES}
SPLITS = [(name, i) for name, case in CASES.items() for i in range(len(case.get("split", ())))]
CUTS = [(name, i) for name, case in CASES.items() for i in range(len(case.get("cut", ())))]
REFUSED = [(name, i) for name, case in CASES.items() for i in range(len(case.get("refused", ())))]


def value(text: str) -> float:
    return float(Fraction(text)) if "inf" not in text else float(text)


def close(ours: float, text: str) -> bool:
    return math.isclose(ours, value(text), rel_tol=1e-12, abs_tol=1e-300)


def case_of(number: str) -> dict[str, Any]:
    found = [case for case in CASES.values() if case["id"] == number]
    assert len(found) == 1
    return found[0]


def rows_of(case: dict[str, Any], where: dict[str, str] | None = None) -> tuple[dict[str, np.ndarray], np.ndarray]:
    sample = samples.load(case["sample"])
    keep = np.ones(len(sample.y), dtype=bool)
    for column, wanted in (where or {}).items():
        keep &= sample.frame[column] == wanted
    return {name: column[keep] for name, column in sample.X.items()}, sample.y[keep]


def by_attribute(table: Any, measure: str) -> dict[str, float]:
    return dict(zip(table["attribute"], table[measure], strict=True))


def rounded_like(text: str, exact: str) -> bool:
    """Whether a number that a person reads is the exact one, rounded to the figures that are shown."""
    figures = len(text.replace(".", "").lstrip("0"))
    return math.isclose(float(text), value(exact), rel_tol=0.5000001 * 10.0 ** (1 - figures))


def test_every_example_of_ranges_scores_and_subsets_has_a_file():
    assert {case["id"] for case in CASES.values()} == {f"G{n}" for n in range(46, 54)}


# -- G46: the best binary split ---------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "i"), SPLITS)
def test_the_best_binary_split_is_that_of_the_example(name, i):
    case = CASES[name]
    split = case["split"][i]
    X, y = rows_of(case, split.get("where"))
    column = {split["column"]: X[split["column"]]}
    every = cuts.naive(Values.from_arrays(X[split["column"]], y)).edges
    gains = {edge: attribute_scores(column, y, numeric=[edge])["information_gain"][0] for edge in every.tolist()}
    best = max(gains, key=gains.__getitem__)
    assert best == value(split["cut"])
    assert close(gains[best], split["gain"])
    assert sum(math.isclose(gain, gains[best], rel_tol=1e-12) for gain in gains.values()) == 1


@pytest.mark.parametrize(("name", "i"), SPLITS)
def test_mdl_says_the_same_of_the_best_split(name, i):
    case = CASES[name]
    split = case["split"][i]
    X, y = rows_of(case, split.get("where"))
    found = cuts.mdl(Values.from_arrays(X[split["column"]], y))
    if not split["accepted"]:
        assert len(found.edges) == 0
        return
    assert found.edges.tolist() == [value(split["cut"])]
    gain, needed = found.parts
    assert close(gain[0], split["gain"])
    assert close(needed[0], split["needed"])
    assert found.reasons == ["information gain 0.970951 bits > 0.573091 required"]


@pytest.mark.parametrize(("name", "i"), SPLITS)
def test_the_gain_is_the_mutual_information_of_the_two_sides(name, i):
    case = CASES[name]
    split = case["split"][i]
    X, y = rows_of(case, split.get("where"))
    tally = Values.from_arrays(X[split["column"]], y)
    assert close(measures.mutual_information(tally.counts_in(np.array([value(split["cut"])])).T), split["gain"])


# -- G47: gains and a tie ----------------------------------------------------------------------------------


def test_g47_the_gains_of_cheat_with_income_cut_by_hand():
    case = case_of("G47")
    X, y = rows_of(case)
    edges = {name: [value(e) for e in given] for name, given in case["edges"].items()}
    found = by_attribute(attribute_scores(X, y, numeric=edges), "information_gain")
    assert list(found) == list(case["gain"])
    for name, text in case["gain"].items():
        assert close(found[name], text), name
    assert len({found[name] for name in case["tie"]}) == 1


def test_g47_the_tie_is_named_and_goes_to_the_first_column():
    case = case_of("G47")
    X, y = rows_of(case)
    edges = {name: [value(e) for e in given] for name, given in case["edges"].items()}
    search = FilterSelector(k=1, numeric=edges).fit(X, y)
    assert search.get_feature_names_out().tolist() == case["tie"][:1]
    assert list(search.ties_) == case["tie"][1:]
    turned = {name: X[name] for name in reversed(X)}
    search = FilterSelector(k=1, numeric=edges).fit(turned, y)
    assert search.get_feature_names_out().tolist() == case["tie"][1:]
    assert list(search.ties_) == case["tie"][:1]


# -- G48: means ----------------------------------------------------------------------------------------------


def test_g48_mean_deviation_and_means_of_the_leaves():
    case = case_of("G48")
    table, wanted = samples.load(case["sample"]).frame, case["expected"]
    whole = Values.from_arrays(table["hours"]).moments
    assert close(whole.triple[1][0], wanted["mean"])
    assert close(math.sqrt(whole.triple[2][0] / whole.triple[0][0]), wanted["sd_n"])
    leaves = Values.from_arrays(table["hours"], table["outlook"])
    for c, label in enumerate(leaves.given.values):
        assert close(leaves.moments.triple[1][c], wanted["leaves"][label])


@pytest.mark.parametrize("measure", ["sd_reduction", "variance_reduction"])
def test_g48_by_how_much_each_attribute_lowers_the_spread(measure):
    case = case_of("G48")
    found = attribute_scores(samples.load(case["sample"]).frame, case["target"], target="number")
    assert found["attribute"] == list(case[measure])
    for name, text in case[measure].items():
        assert close(by_attribute(found, measure)[name], text), name
    assert all(close(mean, case["expected"]["mean"]) for mean in found["mean"])
    assert all(close(sd, case["expected"]["sd_n"]) for sd in found["sd"])


def test_g48_the_selector_keeps_the_attribute_that_lowers_the_spread_most():
    case = case_of("G48")
    search = FilterSelector("sd_reduction", k=1).fit(samples.load(case["sample"]).frame, case["target"])
    assert search.get_feature_names_out().tolist() == ["outlook"]


# -- G49, G50: PMI, MI, chi-square ---------------------------------------------------------------------------


def test_g49_pmi_of_each_value_and_class():
    case = case_of("G49")
    X, y = rows_of(case)
    table = pmi({case["column"]: X[case["column"]]}, y)
    found = {(v, c): bits for v, c, bits in zip(table["value"], table["class"], table["pmi"], strict=True)}
    assert len(found) == 6
    for v, row in case["pmi"].items():
        for c, text in row.items():
            assert close(found[v, c], text) or found[v, c] == value(text) == -math.inf, (v, c)


@pytest.mark.parametrize(
    ("measure", "section"), [("information_gain", "gain"), ("chi_square", "chi_square"), ("gain_ratio", "gain_ratio")]
)
def test_g50_the_scores_of_each_attribute(measure, section):
    case = case_of("G50")
    found = by_attribute(attribute_scores(*rows_of(case)), measure)
    assert list(found) == list(case[section])
    for name, text in case[section].items():
        assert close(found[name], text), name


def test_g50_each_value_as_a_binary_attribute():
    case = case_of("G50")
    X, y = rows_of(case)
    found = by_attribute(attribute_scores({"outlook": X["outlook"]}, y, nominal="binary"), "information_gain")
    assert set(found) == set(case["gain_of_binary"])
    for name, text in case["gain_of_binary"].items():
        assert close(found[name], text), name


def test_g50_bits_times_ln_2_are_the_nats_of_the_example():
    case = case_of("G50")
    found = by_attribute(attribute_scores(*rows_of(case)), "information_gain")
    assert close(found["outlook"] * math.log(2), case["nats"]["outlook"])


# -- G51, G52: every rule for ranges -------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "i"), CUTS)
def test_the_ranges_are_those_of_the_example(name, i):
    case = CASES[name]
    settings = dict(case["cut"][i])
    wanted = [value(edge) for edge in settings.pop("edges")]
    centers = [value(center) for center in settings.pop("centers", ())]
    X, y = rows_of(case)
    column = {case["column"]: X[case["column"]]}
    cutter = Discretizer(**settings)
    if wanted:
        cutter.fit(column, y)
    else:
        with pytest.warns(DataWarning, match="a single bin"):
            cutter.fit(column, y)
    np.testing.assert_allclose(cutter.edges_[case["column"]], wanted, rtol=1e-14, atol=0)
    assert len(cutter.cuts_[case["column"]].reasons) == len(wanted)
    if centers:
        below, above = cutter.cuts_[case["column"]].parts
        np.testing.assert_allclose([*below, above[-1]], centers, rtol=1e-14, atol=0)


@pytest.mark.parametrize(("name", "i"), CUTS)
def test_the_law_of_naive_bayes_cuts_at_the_same_edges(name, i):
    case = CASES[name]
    settings = dict(case["cut"][i])
    settings.pop("centers", None)
    wanted = [value(edge) for edge in settings.pop("edges")]
    X, y = rows_of(case)
    model = NaiveBayesClassifier({case["column"]: Binned(**settings)}).fit({case["column"]: X[case["column"]]}, y)
    np.testing.assert_allclose(model.densities_[case["column"]].edges, wanted, rtol=1e-14, atol=0)


@pytest.mark.parametrize(("name", "i"), CUTS)
def test_the_ranges_do_not_depend_on_the_order_of_the_rows(name, i):
    case = CASES[name]
    settings = {key: part for key, part in case["cut"][i].items() if key not in ("edges", "centers")}
    wanted = [value(edge) for edge in case["cut"][i]["edges"]]
    X, y = rows_of(case)
    x = X[case["column"]]
    for order in (np.arange(len(y))[::-1], np.argsort(y, kind="stable"), np.argsort(y, kind="stable")[::-1]):
        how = cuts.CutRule(**settings)
        np.testing.assert_allclose(how.cut(Values.from_arrays(x[order], y[order])).edges, wanted, rtol=1e-14, atol=0)


@pytest.mark.parametrize(("name", "i"), REFUSED)
def test_mdl_refuses_and_gives_the_numbers(name, i):
    case = CASES[name]
    refused = case["refused"][i]
    X, y = rows_of(case)
    column = refused["column"]
    with pytest.warns(DataWarning, match=f"'{column}' has a single bin"):
        cutter = Discretizer("mdl").fit({column: X[column]}, y)
    assert cutter.edges_[column].tolist() == []
    report = cutter.report(column)
    found = re.fullmatch(
        r"no cut point .*: the best, (\S+), has an information gain of (\S+) bits, and (\S+) are required",
        report.notes[0],
    )
    assert found is not None, report.notes
    assert float(found[1]) == value(refused["at"])
    assert rounded_like(found[2], refused["gain"])
    assert rounded_like(found[3], refused["needed"])
    assert report.after == 0


def test_g52_the_notes_say_which_cuts_were_joined():
    case = case_of("G52")
    X, y = rows_of(case)
    x = {"temperature": X["temperature"]}
    assert Discretizer("min_n", n=3).fit(x, y).report("temperature").notes == []
    for merge in ("majority", "last"):
        notes = Discretizer("min_n", n=3, merge=merge).fit(x, y).report("temperature").notes
        assert notes == [f"1 of 2 cut points removed by merging ({merge})"]


def test_g51_k_means_is_not_equal_width():
    """E16: the slide says that without natural groups they are the same."""
    case = case_of("G51")
    X, y = rows_of(case)
    tally = Values.from_arrays(X["temp"], y)
    assert not np.allclose(cuts.kmeans(tally, 3).edges, cuts.equal_width(tally, 3).edges)


# -- G53: subsets --------------------------------------------------------------------------------------------


def adding() -> NaiveBayesClassifier:
    return NaiveBayesClassifier(smoothing=1)


def refitting() -> Any:
    """To the wrapper a pipeline is no sum of terms, whatever is in it."""
    return make_pipeline(NaiveBayesClassifier(smoothing=1))


WAYS = {"adding terms": adding, "refitting": refitting}


def searched(how: str, direction: str, **settings: Any) -> WrapperSelector:
    X, y = rows_of(case_of("G53"))
    search = WrapperSelector(WAYS[how](), direction=direction, cv="leave_one_out", **settings).fit(X, y)
    assert search.how_ == how
    return search


def rights(numbers: Any) -> list[int]:
    counted = 14 * np.asarray(list(numbers))
    np.testing.assert_allclose(counted, np.rint(counted), rtol=0, atol=1e-12)
    return np.rint(counted).astype(int).tolist()


@pytest.mark.parametrize("how", WAYS)
def test_g53_all_16_subsets(how):
    case = case_of("G53")
    search = searched(how, "exhaustive", allow_empty=True)
    wanted = {tuple(names.split()): right for names, right in case["right"].items()}
    assert len(wanted) == 16
    assert dict(zip(search.scores_, rights(search.scores_.values()), strict=True)) == wanted
    assert search.get_feature_names_out().tolist() == case["chosen"]
    assert rights([search.score_]) == [max(wanted.values())]
    assert search.why_ == "all 16 subsets were scored"


@pytest.mark.parametrize("how", WAYS)
def test_g53_ablation_reaches_the_optimum(how):
    case = case_of("G53")
    search = searched(how, "backward")
    assert search.get_feature_names_out().tolist() == case["chosen"]
    assert search.path_["changed"] == case["backward"]["changed"]
    assert rights(search.path_["score"]) == case["backward"]["right"]


@pytest.mark.parametrize("how", WAYS)
def test_g53_greedy_from_the_best_single_names_the_tie(how):
    case = case_of("G53")
    search = searched(how, "forward")
    assert search.path_["changed"] == case["forward"]["changed"]
    assert search.path_["ties"] == case["forward"]["ties"]
    assert rights(search.path_["score"]) == case["forward"]["right"]
    assert search.get_feature_names_out().tolist() == case["chosen"]


@pytest.mark.parametrize("how", WAYS)
def test_g53_greedy_that_may_keep_nothing_stops_at_once(how):
    case = case_of("G53")
    search = searched(how, "forward", allow_empty=True)
    assert rights(search.path_["score"]) == case["forward_or_nothing"]["right"]
    assert rights([search.score_]) == case["forward_or_nothing"]["right"]
    assert search.get_feature_names_out().tolist() == []
    assert "-0.142857" in search.why_


@pytest.mark.parametrize("how", WAYS)
def test_g53_from_temperature_greedy_would_stop_at_seven(how):
    """The tie broken the other way: temperature first among the columns."""
    X, y = rows_of(case_of("G53"))
    turned = {name: X[name] for name in ("temperature", "outlook", "humidity", "wind")}
    search = WrapperSelector(WAYS[how](), direction="forward", cv="leave_one_out").fit(turned, y)
    assert search.get_feature_names_out().tolist() == ["temperature"]
    assert rights([search.score_]) == [7]
