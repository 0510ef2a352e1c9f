"""Networks on the lecture's table, through the public interface.

Files of kind `network` hold the arguments of `BayesNetwork` in `[network]`, the `columns` used, cells to make missing
(`blank`), what a search must have `found` (arcs, their score, and that of each family), the score of an `other`
structure, what `em` passes through, and queries with their answers.
"""

from __future__ import annotations

import tomllib
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from countwise import BayesNetwork, samples
from countwise.network.family_scores import Families

CASES = {
    path.stem: case
    for path in sorted(Path(__file__).parent.glob("g5*.toml"))
    if (case := tomllib.loads(path.read_text(encoding="utf-8"))).get("kind") == "network"
}


def number(text: str) -> float:
    return float(Fraction(text))


def table_of(case: dict[str, Any]) -> dict[str, Any]:
    frame = samples.load(case["sample"]).frame
    columns = {name: list(frame[name]) for name in case.get("columns", list(frame))}
    for cell in case.get("blank", []):
        columns[cell["column"]][cell["row"]] = None
    return columns


def fitted(case: dict[str, Any]) -> BayesNetwork:
    return BayesNetwork(**case["network"]).fit(table_of(case))


def test_all_examples_of_networks_are_here():
    assert {case["id"] for case in CASES.values()} == {"G54", "G55", "G56", "G57"}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_answers_are_those_of_the_worked_example(case):
    net = fitted(case)
    for query in case.get("query", []):
        answer = net.query(query["queried"], query["given"])
        marginal = net.marginals(query["given"])[query["queried"]]
        for value, exact in query["answer"].items():
            assert answer[value] == pytest.approx(number(exact), abs=1e-12)
            assert marginal[value] == pytest.approx(number(exact), abs=1e-12)


@pytest.mark.parametrize("method", ["likelihood_weighting", "gibbs"])
def test_sampling_approaches_the_worked_example(method):
    case = CASES["g54_tennis_network"]
    net = fitted(case)
    for query in case["query"]:
        answer = net.query(query["queried"], query["given"], method=method, n=40_000)
        for value, exact in query["answer"].items():
            assert abs(answer[value] - number(exact)) < 4 * answer.errors[value]
            assert answer.errors[value] < 0.02


@pytest.mark.parametrize("name", ["g55_tennis_ordering_bic", "g55_tennis_ordering_k2"])
def test_an_ordering_gives_the_structure_of_the_worked_example(name):
    case = CASES[name]
    net = fitted(case)
    assert {frozenset(arc) for arc in net.graph_.arcs} == {frozenset(arc) for arc in case["found"]["arcs"]}
    assert set(net.graph_.arcs) == {tuple(arc) for arc in case["found"]["arcs"]}
    assert net.found_.score == pytest.approx(number(case["found"]["score"]), rel=1e-13)
    table = net._rows_of(table_of(case))
    families = Families(list(net.net_.attributes.values()), table, case["network"]["criterion"])
    for child, exact in case["found"]["families"].items():
        assert families.of(child, net.graph_.parents[child]) == pytest.approx(number(exact), rel=1e-13)
    for other in case.get("other", []):
        score = sum(families.of(child, other["structure"].get(child, ())) for child in net.graph_)
        assert score == pytest.approx(number(other["score"]), rel=1e-13)


def test_em_passes_through_the_worked_example():
    case = CASES["g56_tennis_em"]
    net = fitted(case)
    assert net.em_.log_likelihoods[-1] == pytest.approx(number(case["em"]["log_likelihood"]), rel=1e-13)
    whole = BayesNetwork(**{**case["network"], "missing": "complete"})
    with pytest.warns(match="1 of 14 rows were excluded"):
        whole.fit(table_of(case))
    first = whole.query("play", {"outlook": "Rain", "wind": "Strong"})["No"]
    assert first == pytest.approx(number(case["em"]["first"]), abs=1e-14)
