"""Queries told: every table, product and sum that is written is recomputed, and what is left out cannot matter."""

from __future__ import annotations

import itertools
import json
import math
import re

import numpy as np
import pytest

from countwise import Nominal, Numeric
from countwise.data.table import Table
from countwise.distributions import Gaussian
from countwise.errors import CountwiseError
from countwise.network.families import joined_parents
from countwise.network.graph import Graph
from countwise.network.inference.elimination_working import explain_elimination as explain_situation
from countwise.network.inspection import explaining_away
from countwise.network.net import Net
from countwise.network.queries import Situation
from countwise.working import Account, Section
from countwise.working.numbers import number, percent


def explain_elimination(net, queried, known=None, **settings):
    return explain_situation(Situation.of(net, {}, known), queried, **settings)


YES = ("yes", "no")
ASIA = Net(
    Graph(
        {
            "asia": (), "tub": ("asia",), "smoke": (), "lung": ("smoke",), "bronc": ("smoke",),
            "either": ("lung", "tub"), "xray": ("either",), "dysp": ("bronc", "either"),
        }
    ),
    {name: Nominal(name, YES) for name in ("asia", "tub", "smoke", "lung", "bronc", "either", "xray", "dysp")},
    {
        "asia": np.array([0.01, 0.99]),
        "tub": np.array([[0.05, 0.95], [0.01, 0.99]]),
        "smoke": np.array([0.5, 0.5]),
        "lung": np.array([[0.1, 0.9], [0.01, 0.99]]),
        "bronc": np.array([[0.6, 0.4], [0.3, 0.7]]),
        "either": np.array([[[1.0, 0.0], [1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]]),
        "xray": np.array([[0.98, 0.02], [0.05, 0.95]]),
        "dysp": np.array([[[0.9, 0.1], [0.8, 0.2]], [[0.7, 0.3], [0.1, 0.9]]]),
    },
    {},
)  # fmt: skip


def joint_posterior(net: Net, queried: list[str], known: dict[str, str]) -> dict[tuple[str, ...], float]:
    """P(queried | known) by adding up the whole joint."""
    names = list(net.graph)
    domain = [net.attributes[name].values for name in names]
    found: dict[tuple[str, ...], float] = {}
    for cell in itertools.product(*domain):
        at = dict(zip(names, cell, strict=True))
        if any(at[name] != value for name, value in known.items()):
            continue
        p = math.prod(cpt(net, name, at) for name in names)
        key = tuple(at[name] for name in queried)
        found[key] = found.get(key, 0.0) + p
    total = sum(found.values())
    return {key: p / total for key, p in found.items()} if total else {}


def cpt(net: Net, node: str, at: dict[str, str]) -> float:
    place = tuple(net.attributes[v].values.index(at[v]) for v in (*net.graph.parents[node], node))
    return float(net.tables[node][place])


def steps(told: Account) -> list[Section]:
    return [section for section in told.sections if section.title.startswith("Eliminate ")]


def read(label: str, net: Net, at: dict[str, str], made: dict[str, dict[tuple[str, ...], float]]) -> float:
    """What a factor of that name is for some values: from the network's tables, or from the sums told before."""
    head, inner = re.fullmatch(r"(\w+)\((.*)\)", label).groups()
    if head == "P":
        node = re.split(r" = | \| ", inner)[0]
        known = dict(part.split(" = ") for part in re.split(r" \| |, ", inner) if " = " in part)
        return cpt(net, node, {**at, **known})
    return made[head][tuple(at[v] for v in inner.split(", "))]


def recheck(told: Account, net: Net, queried: list[str]) -> None:
    """Recompute every product and sum that is told, from nothing but the tables of the network."""
    made: dict[str, dict[tuple[str, ...], float]] = {}
    for section in (*steps(told), told.sections[-1]):
        names = list(section.table)
        labels = [name for name in names if re.match(r"(P|f\d+)\(", name)][:-1]
        variables = [name for name in names if name in net.graph]
        sums: dict[tuple[str, ...], float] = {}
        for row in section.table.rows():
            line = dict(zip(names, row, strict=True))
            at = {v: line[v] for v in variables}
            parts = [read(label, net, at, made) for label in labels]
            assert [line[label] for label in labels] == pytest.approx(parts, rel=1e-12)
            if len(labels) > 1:
                assert line["product"] == pytest.approx(math.prod(parts), rel=1e-12)
            key = tuple(at[v] for v in variables[:-1])
            sums[key] = sums.get(key, 0.0) + math.prod(parts)
            if section in steps(told) and line[names[-1]] is not None:
                assert line[names[-1]] == pytest.approx(sums[key], rel=1e-12)
        if section in steps(told):
            gone = re.match(r"Eliminate (\w+):", section.title)[1]
            assert variables[-1] == gone
            assert sum(cell is not None for cell in section.table[names[-1]]) == len(sums)
            made[names[-1].partition("(")[0]] = sums
    last = told.sections[-1].table
    products = last["product"] if "product" in last else last[list(last)[-2]]
    np.testing.assert_allclose(last[list(last)[-1]], np.array(products) / sum(products), rtol=1e-12)
    assert [name for name in last if name in net.graph] == queried


@pytest.mark.parametrize("seed", range(40))
def test_every_number_of_a_told_query_can_be_recomputed_and_the_answer_is_the_joint_s(seed):
    rng = np.random.default_rng(seed)
    names = list(ASIA.graph)
    queried = [str(name) for name in rng.permutation(names)[: 1 + seed % 2]]
    known = {name: YES[rng.integers(2)] for name in names if name not in queried and rng.random() < 0.3}
    wanted = joint_posterior(ASIA, queried, known)
    if not wanted:
        with pytest.raises(CountwiseError, match="probability 0"):
            explain_elimination(ASIA, queried, known)
        return
    told = explain_elimination(ASIA, queried, known)
    keys = {key if len(queried) > 1 else key[0]: p for key, p in wanted.items()}
    assert told.posterior == pytest.approx(keys, rel=1e-10, abs=1e-15)
    np.testing.assert_allclose(
        list(told.posterior.values()), ASIA.query(queried, known).ravel(), rtol=1e-10, atol=1e-15
    )
    assert told.value == max(told.posterior.values())
    recheck(told, ASIA, queried)


@pytest.mark.parametrize("seed", range(40))
def test_what_is_left_out_says_nothing_of_what_is_asked(seed):
    rng = np.random.default_rng(seed)
    names = list(ASIA.graph)
    queried = str(rng.choice(names))
    known = {"tub": "yes", "either": "no"}  # impossible
    while not joint_posterior(ASIA, [queried], known):
        known = {name: YES[rng.integers(2)] for name in names if name != queried and rng.random() < 0.35}
    told = explain_elimination(ASIA, queried, known)
    lines = "\n".join(told.sections[0].lines)
    barren = re.search(r"barren \(.*\): (.*)\.", lines)
    apart = re.search(r"d-separated from .*: (.*)\.", lines)
    idle = re.search(r"The evidence on (.*) has no effect", lines)
    summed = re.search(r"the sum over (.*?) of ", lines)
    sets = [set(found[1].split(", ")) if found else set() for found in (barren, apart, summed)]
    # each node has one place: queried, known, summed over, barren, or d-separated
    assert sorted([queried, *known, *itertools.chain(*sets)]) == sorted(names)
    below = {name: {n for n in names if name in ASIA.graph.ancestors([n])} for name in names}
    assert sets[0] == {name for name in names if not below[name] & {queried, *known}}
    assert all(ASIA.graph.d_separated(queried, name, list(known)) for name in sets[1])
    for name in set(idle[1].split(", ")) if idle else set():
        rest = {k: v for k, v in known.items() if k != name}
        np.testing.assert_allclose(ASIA.query(queried, rest), ASIA.query(queried, known), rtol=1e-10)


def test_the_text_holds_the_answer_to_the_printed_figures():
    known = {"dysp": "yes", "xray": "no"}
    told = explain_elimination(ASIA, "lung", known)
    p = ASIA.query("lung", known)
    text = str(told)
    first = text.split("\n", 1)[0]
    assert first == f"P(lung | dysp = yes, xray = no): yes {percent(p[0])}, no {percent(p[1])}."
    assert re.search(rf"^  yes +\S+.* {re.escape(number(p[0]))}$", text, re.MULTILINE)
    evidence = sum(
        math.prod(cpt(ASIA, name, at) for name in at)
        for cell in itertools.product(YES, repeat=8)
        for at in [dict(zip(ASIA.graph, cell, strict=True))]
        if at["dysp"] == "yes" and at["xray"] == "no"
    )
    assert f"sum to {number(evidence)} = P(dysp = yes, xray = no); each is divided by this sum." in text
    assert "P(xray = no | either)" in text


def test_without_evidence_nothing_is_divided():
    told = explain_elimination(ASIA, "smoke")
    assert told.answer == "P(smoke): yes 50.0 %, no 50.0 %."
    assert told.sections[-1].lines == ("The numbers sum to 1, so they are the result.",)
    assert not steps(told)


def test_the_tables_are_told_as_they_are_given():
    sections = {
        section.title: section.table for section in explain_elimination(ASIA, "dysp", {"either": "no"}).sections
    }
    table = sections["P(bronc | smoke)"]
    assert list(table) == ["smoke", "bronc = yes", "bronc = no"]
    assert table.rows() == [("yes", 0.6, 0.4), ("no", 0.3, 0.7)]
    assert sections["P(dysp | bronc, either = no)"].rows() == [("yes", 0.8, 0.2), ("no", 0.1, 0.9)]


def test_soft_evidence_is_a_factor_of_its_own_that_counts_once():
    known = {"either": {"yes": 0.7, "no": 0.2}, "dysp": "yes"}
    weights = {"yes": 0.7, "no": 0.2}
    total = {
        value: sum(
            joint_posterior(ASIA, ["lung", "either"], {"dysp": "yes"})[value, seen] * weights[seen] for seen in YES
        )
        for value in YES
    }
    told = explain_elimination(ASIA, "lung", known)
    assert told.posterior == pytest.approx({value: p / sum(total.values()) for value, p in total.items()}, rel=1e-10)
    assert "w(either)" in told.sections[0].lines[0]
    assert {s.title: s.table for s in told.sections}["w(either)"].rows() == [("yes", 0.7), ("no", 0.2)]
    assert "= P(" not in told.sections[-1].lines[0]


def gaussian_net() -> Net:
    side = Nominal("side", ("left", "right"))
    table = Table({"side": np.array([0, 1] * 4, dtype=np.uint8), "x": np.arange(8.0) ** 1.5}, 8)
    law = Gaussian()
    density = law.estimate(law.blank(side, Numeric("x")).fill(table))
    graph = Graph({"side": (), "x": ("side",), "y": ("side",)})
    attributes = {"side": side, "x": Numeric("x"), "y": Numeric("y")}
    return Net(graph, attributes, {"side": np.array([0.3, 0.7])}, {"x": density, "y": density})


def test_a_number_that_is_known_is_a_density_of_its_parents():
    net = gaussian_net()
    told = explain_elimination(net, "side", {"x": 4.5})
    np.testing.assert_allclose(list(told.posterior.values()), net.query("side", {"x": 4.5}), rtol=1e-12)
    assert told.answer.startswith("P(side | x = 4.5): left ")
    assert told.sections[-1].title == "Remaining factors: P(side) · p(x = 4.5 | side)"
    assert max(told.sections[-1].table["p(x = 4.5 | side)"]) == 1
    assert any("density" in note for note in told.notes)
    assert any("barren" in line and line.endswith(": y.") for line in told.sections[0].lines)
    both = explain_elimination(net, "side", {"x": 4.5, "y": 3})
    np.testing.assert_allclose(list(both.posterior.values()), net.query("side", {"x": 4.5, "y": 3}), rtol=1e-12)
    assert both.sections[-1].title == "Remaining factors: P(side) · p(x = 4.5 | side) · p(y = 3 | side)"


def test_a_number_whose_parent_is_known_says_nothing_of_others():
    net = gaussian_net()
    graph = Graph({**net.graph.parents, "other": ("side",)})
    other = {**net.attributes, "other": Nominal("other", YES)}
    net = Net(graph, other, {**net.tables, "other": np.array([[0.9, 0.1], [0.4, 0.6]])}, net.densities)
    told = explain_elimination(net, "other", {"side": "right", "x": 4.5})
    assert told.posterior == pytest.approx({"yes": 0.4, "no": 0.6})
    assert (
        "The evidence on x has no effect: it is d-separated from other given the other evidence."
        in told.sections[0].lines
    )
    assert told.sections[0].lines[-1].endswith("of other: P(side = right), p(x = 4.5 | side = right).")


def test_a_number_with_two_parents_of_which_one_is_known_speaks_of_the_other():
    side, hand = (Nominal(name, ("left", "right")) for name in ("side", "hand"))
    both = joined_parents([side, hand])
    codes = np.array([0, 1, 2, 3] * 3, dtype=np.uint8)
    law = Gaussian()
    density = law.estimate(
        law.blank(both, Numeric("x")).fill(Table({both.name: codes, "x": np.arange(12.0) ** 1.5}, 12))
    )
    net = Net(
        Graph({"side": (), "hand": (), "x": ("side", "hand")}),
        {"side": side, "hand": hand, "x": Numeric("x")},
        {"side": np.array([0.3, 0.7]), "hand": np.array([0.6, 0.4])},
        {"x": density},
    )
    known = {"x": 12.0, "hand": "right"}
    told = explain_elimination(net, "side", known)
    np.testing.assert_allclose(list(told.posterior.values()), net.query("side", known), rtol=1e-12)
    assert told.sections[-1].title == "Remaining factors: P(side) · p(x = 12 | side, hand = right)"
    assert told.sections[-1].table.n_rows == 2


def wide_net(parents: int, size: int) -> Net:
    rng = np.random.default_rng(0)
    names = [f"a{i}" for i in range(parents)]
    values = tuple(f"v{i}" for i in range(size))
    return Net(
        Graph({**dict.fromkeys(names, ()), "child": tuple(names)}),
        {name: Nominal(name, values) for name in (*names, "child")},
        {
            **{name: rng.dirichlet(np.ones(size)) for name in names},
            "child": rng.dirichlet(np.ones(size), size=(size,) * parents),
        },
        {},
    )


def test_a_table_too_large_to_write_is_told_by_its_size_and_never_in_part():
    net = wide_net(3, 4)  # 256 cells
    told = explain_elimination(net, "child", {})
    assert told.posterior == pytest.approx(dict(zip(net.attributes["child"].values, net.query("child"), strict=True)))
    text = str(told)
    assert "a0 (4) × a1 (4) × a2 (4) × child (4): 256 cells, more than the 64 that are shown." in text
    assert told.notes[0] == "The largest intermediate table has 256 cells."
    for section in told.sections:
        assert section.table.n_rows <= 64
        assert section.table.n_rows > 0 or section.lines
    whole = explain_elimination(net, "child", {}, most_cells=256)
    assert max(section.table.n_rows for section in whole.sections) == 256
    recheck(whole, net, ["child"])


def test_many_tables_are_written_only_where_they_are_used_and_that_is_said():
    names = [f"n{i}" for i in range(15)]
    graph = Graph({name: (names[i - 1],) if i else () for i, name in enumerate(names)})
    rng = np.random.default_rng(1)
    net = Net(
        graph,
        {name: Nominal(name, YES) for name in names},
        {name: rng.dirichlet(np.ones(2), size=(2,) * len(graph.parents[name])) for name in names},
        {},
    )
    told = explain_elimination(net, "n14")
    assert told.sections[1].lines == ("There are 15 factors; each is shown where it is used.",)
    recheck(told, net, ["n14"])


def test_many_values_are_told_by_the_most_probable_and_all_stand_in_the_table():
    net = Net(Graph({"x": ()}), {"x": Nominal("x", tuple("abcdefgh"))}, {"x": np.arange(1, 9) / 36}, {})
    told = explain_elimination(net, "x")
    assert told.answer == "P(x): h 22.2 %, the most probable of 8."
    assert told.sections[-1].table.n_rows == 8


def test_nodes_named_like_columns_keep_their_columns():
    net = Net(
        Graph({"product": (), "P(product)": ("product",)}),
        {name: Nominal(name, YES) for name in ("product", "P(product)")},
        {"product": np.array([0.2, 0.8]), "P(product)": np.array([[0.9, 0.1], [0.4, 0.6]])},
        {},
    )
    table = explain_elimination(net, "product", {"P(product)": "yes"}).sections[-1].table
    assert [len(column) for column in table.values()] == [2] * 5
    assert table["product"] == ["yes", "no"]
    assert table["product'"] == pytest.approx([0.18, 0.32])


def test_a_telling_is_text_page_formula_frame_and_plain_data():
    net = Net(
        Graph({"a<b": (), "c&d": ("a<b",)}),
        {"a<b": Nominal("a<b", ("<", "&")), "c&d": Nominal("c&d", YES)},
        {"a<b": np.array([0.2, 0.8]), "c&d": np.array([[0.9, 0.1], [0.4, 0.6]])},
        {},
    )
    told = explain_elimination(net, "c&d")
    page, formula = told._repr_html_(), told.latex()
    assert "<td>&lt;</td>" in page
    assert "a<b" not in page
    assert page.startswith("<style>")  # as the working of any other answer
    assert r"P(c\&d \textbar{} a\textless{}b)" in formula
    assert formula.count(r"\begin{array}") == formula.count(r"\end{array}") == 4
    frame = told.sections[-1].table.to_frame()
    assert list(frame["c&d"]) == ["yes", "no"]
    assert json.loads(json.dumps(told.to_dict()))["posterior"] == pytest.approx({"yes": 0.5, "no": 0.5})


def test_what_cannot_be_queried_is_refused_as_by_the_network():
    with pytest.raises(CountwiseError, match="'lung' is part of the evidence"):
        explain_elimination(ASIA, "lung", {"lung": "yes"})
    with pytest.raises(CountwiseError, match="no node 'lnug'"):
        explain_elimination(ASIA, "lnug")
    with pytest.raises(CountwiseError, match="is numeric"):
        explain_elimination(gaussian_net(), "x")


# -- explaining away --------------------------------------------------------------------


def alarm_net() -> Net:
    return Net(
        Graph({"burglary": (), "earthquake": (), "alarm": ("burglary", "earthquake"), "radio": ("earthquake",)}),
        {name: Nominal(name, YES) for name in ("burglary", "earthquake", "alarm", "radio")},
        {
            "burglary": np.array([0.001, 0.999]),
            "earthquake": np.array([0.002, 0.998]),
            "alarm": np.array([[[0.95, 0.05], [0.94, 0.06]], [[0.29, 0.71], [0.001, 0.999]]]),
            "radio": np.array([[0.9, 0.1], [0.0001, 0.9999]]),
        },
        {},
    )


def test_an_earthquake_explains_the_alarm_away():
    net = alarm_net()
    told = explaining_away(net, "burglary", {"alarm": "yes"}, "earthquake")
    known = [{}, {"earthquake": "yes"}, {"alarm": "yes"}, {"alarm": "yes", "earthquake": "yes"}]
    wanted = [joint_posterior(net, ["burglary"], which)["yes",] for which in known]
    table = told.sections[0].table
    assert table["P(burglary = yes)"] == pytest.approx(wanted, rel=1e-10)
    assert table["evidence"] == ["none", "earthquake = yes", "alarm = yes", "alarm = yes, earthquake = yes"]
    assert told.value == pytest.approx(wanted[3])
    assert told.answer == (
        f"earthquake = yes explains alarm = yes away: "
        f"P(burglary = yes) falls from {percent(wanted[2])} to {percent(wanted[3])}."
    )
    assert told.sections[0].lines == (
        "burglary and earthquake are d-separated without evidence, but not given alarm.",
    )


def test_news_of_the_other_cause_explain_away_too():
    told = explaining_away(alarm_net(), {"burglary": "yes"}, {"alarm": "yes"}, {"radio": "yes"})
    assert told.answer.startswith("radio = yes explains alarm = yes away: P(burglary = yes) falls from ")


def test_the_other_value_of_a_cause_does_the_opposite():
    told = explaining_away(alarm_net(), "burglary", {"alarm": "yes"}, {"earthquake": "no"})
    assert told.answer.startswith("earthquake = no does not explain alarm = yes away. On the contrary, P(")
    assert " rises from " in told.answer


def test_a_cause_against_which_the_effect_speaks_is_not_explained_away():
    told = explaining_away(alarm_net(), {"burglary": "no"}, {"alarm": "yes"}, "earthquake")
    assert told.answer.startswith(
        "There is nothing to explain away: alarm = yes does not make burglary = no more probable (from 99.9 % to "
    )


def test_what_is_separated_explains_nothing():
    told = explaining_away(ASIA, "lung", {"smoke": "yes"}, "bronc")
    assert told.answer == "bronc = yes does not explain smoke = yes away: P(lung = yes) stays at 10.0 %."
    assert told.sections[0].lines == ("lung and bronc are d-separated given smoke, but not without evidence.",)
    told = explaining_away(ASIA, "lung", {"dysp": "yes"}, "bronc")
    assert told.sections[0].lines == ("lung and bronc are not d-separated, whether dysp is observed or not.",)
    told = explaining_away(alarm_net(), "burglary", {"radio": "yes"}, "earthquake")
    assert told.sections[0].lines == ("burglary and earthquake are d-separated, whether radio is observed or not.",)


def test_causes_and_effects_must_be_three_nodes_of_the_network():
    net = alarm_net()
    with pytest.raises(CountwiseError, match="must be different nodes"):
        explaining_away(net, "burglary", {"alarm": "yes"}, "burglary")
    with pytest.raises(CountwiseError, match="must be different nodes"):
        explaining_away(net, "alarm", {"alarm": "yes"}, "burglary")
    with pytest.raises(CountwiseError, match="must be different nodes"):
        explaining_away(net, "burglary", {}, "earthquake")
    with pytest.raises(CountwiseError, match="no value 'perhaps'"):
        explaining_away(net, {"burglary": "perhaps"}, {"alarm": "yes"}, "earthquake")
    with pytest.raises(CountwiseError, match="one node with its value"):
        explaining_away(net, {"burglary": "yes", "radio": "yes"}, {"alarm": "yes"}, "earthquake")
    with pytest.raises(CountwiseError, match="no node 'fire'"):
        explaining_away(net, "fire", {"alarm": "yes"}, "earthquake")
    with pytest.raises(CountwiseError, match="is numeric"):
        explaining_away(gaussian_net(), "x", {"y": 1}, "side")
