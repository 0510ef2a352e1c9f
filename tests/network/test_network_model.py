"""BayesNetwork: by hand, from data, both; what can be queried, and what is refused."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import countwise
from countwise import BayesNetwork, Binned, MEstimate
from countwise.errors import CountwiseError, OptionError, ReadError, TableError, UnseenValueError
from countwise.network import Dirichlet

ASIA = Path(__file__).parents[1] / "data" / "asia.bif"
ORDER = ["asia", "smoke", "tub", "lung", "either", "bronc", "xray", "dysp"]


@pytest.fixture(scope="module")
def asia():
    return BayesNetwork.read_bif(ASIA)


@pytest.fixture(scope="module")
def asia_rows(asia):
    return pd.DataFrame(asia.sample(50_000, random_state=0))


def joint_of(net):
    """The whole joint table of a network of names, by multiplication."""
    names = list(net.graph_)
    values = [net.net_.attributes[n].values for n in names]
    table = {}
    for cell in itertools.product(*values):
        at = dict(zip(names, cell, strict=True))
        p = 1.0
        for n in names:
            row = net.net_.tables[n]
            for v in (*net.graph_.parents[n], n):
                row = row[net.net_.attributes[v].values.index(at[v])]
            p *= float(row)
        table[cell] = p
    return names, table


def asked_of(joint, node, given):
    names, table = joint
    found: dict[str, float] = {}
    for cell, p in table.items():
        at = dict(zip(names, cell, strict=True))
        if all(at[n] == v for n, v in given.items()):
            found[at[node]] = found.get(at[node], 0.0) + p
    total = sum(found.values())
    return {v: p / total for v, p in found.items()}


# -- asia ------------------------------------------------------------------------------------


def test_all_marginals_of_asia_are_those_of_the_joint(asia):
    joint = joint_of(asia) if asia.query("asia") else None
    for node, answer in asia.marginals().items():
        assert answer == pytest.approx(asked_of(joint, node, {}), abs=1e-12)


def test_twenty_queries_of_asia_are_those_of_the_joint(asia):
    asia.query("asia")
    joint = joint_of(asia)
    rng = np.random.default_rng(0)
    n_queries = 0
    while n_queries < 20:
        names = rng.permutation(ORDER)
        given = {n: str(rng.choice(["yes", "no"])) for n in names[1 : 1 + rng.integers(1, 4)]}
        p_given = sum(
            p for cell, p in joint[1].items() if all(cell[joint[0].index(n)] == v for n, v in given.items())
        )
        if p_given == 0:
            with pytest.raises(OptionError, match="probability 0"):
                asia.query(names[0], given)
            continue
        answer = asia.query(names[0], given)
        n_queries += 1
        assert answer == pytest.approx(asked_of(joint, names[0], given), abs=1e-12)
        assert asia.marginals(given)[names[0]] == pytest.approx(dict(answer), abs=1e-12)
        p_given = sum(
            p for cell, p in joint[1].items() if all(cell[joint[0].index(n)] == v for n, v in given.items())
        )
        assert asia.log_evidence(given) == pytest.approx(math.log(p_given), abs=1e-12)


def test_the_most_probable_explanation_of_asia_is_that_of_the_joint(asia):
    asia.query("asia")
    names, table = joint_of(asia)
    for given in ({}, {"dysp": "yes"}, {"xray": "yes", "smoke": "no"}, {"either": "yes"}):
        best = asia.most_probable_explanation(given)
        full = {**given, **best}
        p = table[tuple(full[n] for n in names)]
        most = max(p for cell, p in table.items() if all(cell[names.index(n)] == v for n, v in given.items()))
        assert p == pytest.approx(most, rel=1e-12)


def test_separations_of_asia_are_independences_of_the_joint(asia):
    asia.query("asia")
    joint = joint_of(asia)
    for one, other in itertools.combinations(ORDER, 2):
        for given in [(), *((n,) for n in ORDER if n not in (one, other))]:
            if not asia.d_separated(one, other, given):
                continue
            for case in itertools.product(["yes", "no"], repeat=len(given)):
                known = dict(zip(given, case, strict=True))
                if (
                    sum(p for c, p in joint[1].items() if all(c[joint[0].index(n)] == v for n, v in known.items()))
                    == 0
                ):
                    continue
                alone = asked_of(joint, one, known)
                for value in ("yes", "no"):
                    try:
                        told = asia.query(one, {**known, other: value})
                    except OptionError:
                        continue
                    assert told == pytest.approx(alone, abs=1e-12)


def test_joint_queries_and_soft_evidence(asia):
    both = asia.query(["lung", "bronc"], {"dysp": "yes"})
    assert sum(both.values()) == pytest.approx(1.0)
    alone = asia.query("lung", {"dysp": "yes"})
    assert both["yes", "yes"] + both["yes", "no"] == pytest.approx(alone["yes"], abs=1e-14)
    for node in ORDER:  # with children or without: the weights count once
        given = {node: {"yes": 0.7, "no": 0.3}, "dysp": "yes"} if node != "dysp" else {node: {"yes": 2, "no": 1}}
        for queried, answer in asia.marginals(given).items():
            if queried != "dysp" or node == "dysp":
                assert asia.query(queried, given) == pytest.approx(dict(answer), abs=1e-12)
    soft = asia.query("lung", {"xray": {"yes": 3, "no": 1}})
    yes, no = asia.query("lung", {"xray": "yes"}), asia.query("lung", {"xray": "no"})
    p = asia.query("xray")
    mixed = (3 * p["yes"] * yes["yes"] + p["no"] * no["yes"]) / (3 * p["yes"] + p["no"])
    assert soft["yes"] == pytest.approx(mixed, abs=1e-14)


@pytest.mark.parametrize("method", ["likelihood_weighting", "gibbs"])
def test_drawn_answers_come_with_errors_and_lie_near(asia, method):
    exact = asia.query("lung", {"dysp": "yes", "smoke": "yes"})
    drawn = asia.query("lung", {"dysp": "yes", "smoke": "yes"}, method=method, n=20_000)
    assert abs(drawn["yes"] - exact["yes"]) < 4 * drawn.errors["yes"]
    assert 0 < drawn.effective <= 20_000
    assert "±" in str(drawn)
    assert method.replace("_", " ") in str(drawn)


def test_sensitivities_are_the_slopes_of_the_answer(asia):
    given = {"dysp": "yes"}
    table = asia.sensitivity("lung", "yes", given)
    rows = dict(zip(table["entry"], table["derivative"], strict=True))
    step = 1e-6

    def moved(by):
        other = BayesNetwork.read_bif(ASIA)
        entry = np.array(other.cpts["lung"]["table"])
        entry[0] += [by, -by]
        other.cpts = {**other.cpts, "lung": {"table": entry.tolist(), "rows": None}}
        return other.query("lung", given)["yes"]

    slope = (moved(step) - moved(-step)) / (2 * step)
    assert rows["P(lung = yes | smoke = yes)"] == pytest.approx(slope, rel=1e-6)
    assert rows["P(lung = no | smoke = yes)"] == pytest.approx(-slope, rel=1e-6)
    assert np.all(np.diff(np.abs(table["derivative"])) <= 1e-15)
    assert "xray" not in table["node"]


# -- learning ---------------------------------------------------------------------------------


def test_parameters_are_recovered_from_rows_that_were_drawn(asia, asia_rows):
    net = BayesNetwork(asia.graph_, smoothing=0).fit(asia_rows)
    for node, table in asia.net_.tables.items():
        laid = table[..., ::-1]  # values learned from data stand in the order of the alphabet: no, yes
        for axis in range(table.ndim - 1):
            laid = np.flip(laid, axis)
        counts = net.tallies_[node].table
        often = counts.sum(axis=-1) > 500
        np.testing.assert_allclose(net.net_.tables[node][often], laid[often], atol=0.05)


def test_k2_with_the_true_order_recovers_the_skeleton_of_asia(asia, asia_rows):
    net = BayesNetwork("ordering", order=ORDER, criterion="k2").fit(asia_rows)
    found = {frozenset(arc) for arc in net.graph_.arcs}
    true = {frozenset(arc) for arc in asia.graph_.arcs}
    assert found == true


def test_structural_em_does_better_than_whole_rows(asia, asia_rows):
    rng = np.random.default_rng(1)
    rows = asia_rows.head(3000).copy()
    for name in rows:
        rows.loc[rng.random(len(rows)) < 0.1, name] = None
    fresh = asia_rows.tail(20_000)
    filled = BayesNetwork("hill_climb", random_state=0).fit(rows)
    with pytest.warns(match="rows were excluded"):
        whole = BayesNetwork("hill_climb", missing="complete", random_state=0).fit(rows)
    assert filled.score(fresh) > whole.score(fresh)


def test_every_way_to_a_structure_gives_a_network(asia_rows):
    rows = asia_rows.head(2000)
    scores = {}
    for structure in ("ordering", "orders", "annealing", "chow_liu", "hill_climb"):
        net = BayesNetwork(structure, order=ORDER if structure == "ordering" else None).fit(rows)
        scores[structure] = net.found_.score
        assert net.found_.tried
        parent, child = net.graph_.arcs[0]
        assert "yes" in net.explain_arc(parent, child)["taken"]
    for structure in ("naive", "tan", "k_dependence"):
        net = BayesNetwork(structure, target="dysp").fit(rows)
        assert all("dysp" in net.graph_.parents[n] for n in ORDER if n != "dysp")
    assert max(scores.values()) == max(scores["hill_climb"], scores["orders"], scores["annealing"])
    assert scores["hill_climb"] >= scores["chow_liu"] - 1e-6


def test_why_an_arc_is_there_or_is_not_is_told(asia_rows):
    net = BayesNetwork("hill_climb").fit(asia_rows.head(5000))
    arcs = set(net.graph_.arcs)
    tried = {(p, c): (gain, taken) for p, c, gain, taken in net.found_.tried}
    assert set(tried) >= {(p, c) for p in ORDER for c in ORDER if p != c and (p, c) in arcs}
    assert {arc for arc, (_, taken) in tried.items() if taken} == arcs
    for (parent, child), (gain, taken) in tried.items():
        above = list(net.graph_.parents[child])
        other = [p for p in above if p != parent] if taken else [*above, parent]
        if len(other) > 3:
            continue
        moved = BayesNetwork({**net.graph_.parents, child: other}, smoothing=0) if taken else None
        if moved is not None:  # what an arc adds is what the score loses without it
            likely = moved.fit(asia_rows.head(5000)).score(asia_rows.head(5000))
            whole = BayesNetwork(net.graph_, smoothing=0).fit(asia_rows.head(5000)).score(asia_rows.head(5000))
            free = 2 ** len(above) - 2 ** len(other)
            assert gain == pytest.approx(whole - likely - 0.5 * math.log(5000) * free, abs=1e-6)
    one, other = next(iter(arcs))
    told = net.explain_arc(one, other)
    assert "it raises the score" in told["because"]
    assert set(told["because"]) <= {
        "it raises the score",
        "it does not raise the score",
        "the reverse arc is present",
        "it would close a cycle",
        "others raise the score more",
    }


def test_arcs_drawn_by_hand_required_and_forbidden_ones_are_kept(asia_rows):
    rows = asia_rows.head(1000)
    net = (
        BayesNetwork("hill_climb", forbidden=[("smoke", "bronc"), ("bronc", "smoke")])
        .add_arc("asia", "dysp")
        .fit(rows)
    )
    assert ("asia", "dysp") in net.graph_.arcs
    assert not {("smoke", "bronc"), ("bronc", "smoke")} & set(net.graph_.arcs)
    tiers = [["asia", "smoke"], ["tub", "lung", "bronc", "either"], ["xray", "dysp"]]
    level = {n: i for i, tier in enumerate(tiers) for n in tier}
    net = BayesNetwork("hill_climb", tiers=tiers).fit(rows)
    assert all(level[p] <= level[c] for p, c in net.graph_.arcs)


def test_smoothing_is_raw_laplace_an_m_estimate_or_a_dirichlet():
    frame = {"a": ["x", "x", "y"], "b": ["u", "v", "u"]}
    told = {"smoothing": [0, 1, MEstimate(2), Dirichlet(4), "bdeu"]}
    found = [
        BayesNetwork({"b": ["a"]}, smoothing=s).fit(frame).query("b", {"a": "y"})["u"] for s in told["smoothing"]
    ]
    assert found == pytest.approx([1.0, 2 / 3, 2 / 3, (1 + 1) / (1 + 2), (1 + 0.25) / (1 + 0.5)])


def test_numbers_are_gaussian_kernel_poisson_or_held_by_their_ranges():
    rng = np.random.default_rng(0)
    n = 2000
    k = rng.integers(0, 2, n)
    frame = pd.DataFrame(
        {
            "k": np.where(k, "one", "two"),
            "g": rng.normal(3 * k, 1),
            "p": rng.poisson(2 + 4 * k),
            "r": rng.uniform(0, 10, n),
        }
    )
    frame["h"] = 2 * frame["g"] - k + rng.normal(size=n)
    frame["s"] = np.where(frame["r"] + rng.normal(size=n) > 5, "high", "low")
    net = BayesNetwork(
        {"g": ["k"], "p": ["k"], "h": ["g", "k"], "s": ["r"]},
        distributions={"p": "poisson", "r": Binned([2.5, 5.0, 7.5])},
    ).fit(frame)
    assert net.query("g", {"k": "one"}) == pytest.approx({"mean": 3, "sd": 1}, abs=0.1)
    assert net.query("p", {"k": "one"})["mean"] == pytest.approx(6, abs=0.2)
    slopes = net.net_.densities["h"].slope[:, 0]
    assert slopes == pytest.approx([2, 2], abs=0.1)
    assert net.query("s", {"r": 9.0})["high"] > 0.99 > 0.6 > net.query("s", {"r": 4.0})["high"]
    assert net.query("k", {"h": 6.0})["one"] > 0.9
    kernel = BayesNetwork({"g": ["k"]}, distributions={"g": "kernel"}).fit(frame[["k", "g"]])
    assert kernel.query("k", {"g": 3.0})["one"] > 0.9
    auto = BayesNetwork({"s": ["r"], "h": ["r"]}).fit(frame[["s", "r", "h"]])
    assert len(auto.cuts_["r"]) == 3  # four ranges, since a name depends on it
    with pytest.raises(OptionError, match="cannot depend on the numeric node 'g'"):
        BayesNetwork({"k": ["g"]}, distributions={"g": "gaussian"}).fit(frame[["k", "g"]])


def test_the_mean_of_a_node_with_a_kernel_density_is_that_of_its_values():
    rows = {"k": ["a", "a", "b", "b", "b"], "x": [1.0, 3.0, 5.0, 6.0, 10.0]}
    net = BayesNetwork([("k", "x")], distributions={"x": {"kind": "kernel", "bandwidth": 2.0}}).fit(rows)
    assert net.query("x", {"k": "a"}) == pytest.approx({"mean": 2, "sd": np.sqrt(1 + 4)})
    assert net.query("x", {"k": "b"}) == pytest.approx({"mean": 7, "sd": np.sqrt(14 / 3 + 4)})


def test_a_search_finds_lines_between_numbers_and_no_arc_from_numbers_to_names():
    rng = np.random.default_rng(2)
    n = 3000
    k = rng.integers(0, 3, n)
    x = rng.normal(2.0 * k)
    y = x + rng.normal(size=n)
    noise = rng.normal(size=n)
    frame = pd.DataFrame({"x": x, "y": y, "noise": noise, "k": np.array(list("abc"))[k]})
    net = BayesNetwork("hill_climb").fit(frame)
    arcs = set(net.graph_.arcs)
    assert ("k", "x") in arcs or ("k", "y") in arcs
    assert {("x", "y"), ("y", "x")} & arcs
    assert not any("noise" in arc for arc in arcs)
    assert not any(child == "k" for _, child in arcs)


# -- more rows, fewer rows, more nodes -----------------------------------------------------------


def test_partial_fit_and_merge_equal_fit_and_forget_takes_back(asia, asia_rows):
    asia.query("asia")
    rows = asia_rows.head(900)
    settings = {"missing": "available"}
    whole = BayesNetwork(asia.graph_, **settings).fit(rows)
    parts = BayesNetwork(asia.graph_, **settings)
    for start in range(0, 900, 200):
        parts.partial_fit(rows.iloc[start : start + 200])
    merged = BayesNetwork(asia.graph_, **settings).fit(rows.head(500)) + BayesNetwork(asia.graph_, **settings).fit(
        rows.tail(400)
    )
    more = BayesNetwork(asia.graph_, **settings).fit(asia_rows.head(1000)).forget(asia_rows.iloc[900:1000])
    for other in (parts, merged, more):
        for node in ORDER:
            np.testing.assert_array_equal(other.tallies_[node].table, whole.tallies_[node].table)
            np.testing.assert_allclose(other.net_.tables[node], whole.net_.tables[node], rtol=0, atol=0)


def test_a_first_piece_with_nothing_but_missing_cells_waits_for_more():
    frame = pd.DataFrame({"c": [None, None, "p", "q", "p"], "d": ["u", "v", "u", "v", "u"]}, dtype=object)
    whole = BayesNetwork({"d": ["c"]}, missing="available").fit(frame)
    parts = BayesNetwork({"d": ["c"]}, missing="available").partial_fit(frame.head(2))
    with pytest.raises(TableError, match=r"Every value of .* is missing"):
        parts.query("d")
    parts.partial_fit(frame.tail(3))
    for node in ("c", "d"):
        np.testing.assert_array_equal(parts.net_.tables[node], whole.net_.tables[node])


def test_mixed_tallies_merge_and_are_taken_back():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"k": rng.choice(["a", "b", "c"], 300), "x": rng.normal(size=300)})
    frame["y"] = frame["x"] + rng.normal(size=300)
    frame["n"] = rng.poisson(3, 300)
    arcs = {"x": ["k"], "y": ["x", "k"], "n": ["k"]}
    settings = {"distributions": {"n": "poisson"}, "missing": "available"}
    whole = BayesNetwork(arcs, **settings).fit(frame)
    first = frame[frame["k"] != "c"].head(50)  # the third value comes only later
    parts = BayesNetwork(arcs, **settings).partial_fit(first)
    parts.partial_fit(frame.drop(first.index))
    np.testing.assert_allclose(parts.score_samples(frame), whole.score_samples(frame), rtol=1e-11)
    more = BayesNetwork(arcs, **settings).fit(pd.concat([frame, frame.head(7)])).forget(frame.head(7))
    np.testing.assert_allclose(more.score_samples(frame), whole.score_samples(frame), rtol=1e-9)


def test_a_variable_is_added_to_a_fitted_network_and_the_rest_stays(asia_rows):
    rows = asia_rows.head(2000)
    net = BayesNetwork({"lung": ["smoke"], "bronc": ["smoke"]}).fit(rows[["smoke", "lung", "bronc"]])
    before = {n: net.net_.tables[n].copy() for n in ("smoke", "bronc")}
    net.add_node("dysp", X=rows, parents=["lung", "bronc"])
    assert net.graph_.parents["dysp"] == ("lung", "bronc")
    whole = BayesNetwork({"lung": ["smoke"], "bronc": ["smoke"], "dysp": ["lung", "bronc"]}).fit(
        rows[["smoke", "lung", "bronc", "dysp"]]
    )
    for node, table in whole.net_.tables.items():
        np.testing.assert_array_equal(net.net_.tables[node], table)
    for node, table in before.items():
        np.testing.assert_array_equal(net.net_.tables[node], table)
    net.add_arc("smoke", "dysp", rows)
    assert net.graph_.parents["dysp"] == ("lung", "bronc", "smoke")
    net.remove_arc("smoke", "dysp", rows)
    np.testing.assert_array_equal(net.net_.tables["dysp"], whole.net_.tables["dysp"])
    with pytest.raises(OptionError, match="form a cycle"):
        net.add_arc("dysp", "smoke", rows)
    assert net.graph_.parents["smoke"] == ()


def test_hand_and_data_together():
    frame = {"rain": ["no"] * 80 + ["yes"] * 20, "wet": ["no"] * 70 + ["yes"] * 30}
    net = BayesNetwork().add_arc("rain", "wet").add_node("rain", ["no", "yes"]).set_cpt("rain", [0.5, 0.5])
    net.fit(frame)
    assert net.query("rain")["yes"] == 0.5  # stands as it was given
    assert net.query("wet", {"rain": "yes"})["yes"] == pytest.approx(21 / 22)
    net = BayesNetwork(smoothing=0).add_node("rain", ["no", "yes"]).set_cpt("rain", [0.5, 0.5], rows=100).fit(frame)
    assert net.query("rain")["yes"] == pytest.approx((20 + 50) / 200)


# -- files and frames --------------------------------------------------------------------------------


def test_what_is_written_as_bif_is_read_back_bit_equal(asia, asia_rows, tmp_path):
    net = BayesNetwork("hill_climb").fit(asia_rows.head(500))
    net.write_bif(tmp_path / "net.bif")
    again = BayesNetwork.read_bif(tmp_path / "net.bif")
    again.query("asia")
    for node, table in net.net_.tables.items():
        assert again.graph_.parents[node] == net.graph_.parents[node]
        assert (again.net_.tables[node] == table).all()


@pytest.mark.parametrize("kind", ["hand", "names", "mixed", "em"])
def test_a_saved_network_answers_as_before(asia, asia_rows, tmp_path, kind):
    rows = asia_rows.head(300).copy()
    if kind == "hand":
        net = BayesNetwork.read_bif(ASIA)
        net.query("asia")
    elif kind == "names":
        net = BayesNetwork("hill_climb", smoothing=Dirichlet(2)).fit(rows)
    elif kind == "em":
        rows.loc[::7, "lung"] = None
        net = BayesNetwork(asia.graph_, latent={"hidden": ["p", "q"]}, max_iter=5, tol=0.5).fit(rows)
    else:
        rows["x"] = np.arange(300.0)
        rows["y"] = np.arange(300.0) ** 1.5
        net = BayesNetwork({"x": ["lung"], "y": ["x"], "dysp": ["z"]}, distributions={"z": Binned([1.0])})
        rows["z"] = np.arange(300.0) % 3
        net.fit(rows)
    countwise.save(net, tmp_path / "net.json")
    again = countwise.load(tmp_path / "net.json")
    assert type(again) is BayesNetwork
    assert again.graph_ == net.graph_
    for node, table in net.net_.tables.items():
        assert (again.net_.tables[node] == table).all()
    assert again.score(rows) == net.score(rows)
    assert again.query("lung", {"dysp": "yes"}) == net.query("lung", {"dysp": "yes"})


def test_a_network_as_a_networkx_graph_and_back(asia, asia_rows):
    graph = asia.to_networkx()
    assert set(graph.edges) == set(asia.graph_.arcs)
    assert graph.nodes["lung"]["values"] == ("yes", "no")
    net = BayesNetwork(graph).fit(asia_rows.head(100))
    assert set(net.graph_.arcs) == set(graph.edges)


def test_frames_of_every_kind_give_the_same_network(asia_rows):
    rows = asia_rows.head(400)
    first = BayesNetwork("chow_liu").fit(rows)
    mapping = {name: rows[name].to_numpy() for name in rows}
    for frame in (pl.from_pandas(rows), mapping, rows.astype("category"), rows.to_dict("records")):
        other = BayesNetwork("chow_liu").fit(frame)
        assert other.graph_ == first.graph_
        assert other.score(frame) == first.score(rows)
    drawn = BayesNetwork("chow_liu").fit(pl.from_pandas(rows)).sample(5, random_state=0)
    assert isinstance(drawn, pl.DataFrame)
    assert drawn.columns == list(rows)


# -- bad input ----------------------------------------------------------------------------------------


def hand():
    return (
        BayesNetwork()
        .add_arc("rain", "wet")
        .add_node("rain", ["no", "yes"], [0.8, 0.2])
        .add_node("wet", ["no", "yes"])
    )


@pytest.mark.parametrize(
    ("work", "told"),
    [
        (lambda: hand().add_arc("wet", "rain"), "form a cycle: (rain → wet → rain|wet → rain → wet)"),
        (lambda: hand().set_cpt("wet", [[0.9, 0.2], [0.2, 0.8]]), "sums to 1.1, not 1"),
        (lambda: hand().set_cpt("wet", [[0.9, 0.1]]), "has the shape \\(1, 2\\); it must be \\(2, 2\\)"),
        (lambda: hand().set_cpt("wet", {"no": [0.9, 0.1]}), "no probabilities for the parent values 'yes'"),
        (
            lambda: hand().set_cpt("wet", {"no": [0.9, 0.1], "yess": [1, 0]}),
            "has no value 'yess'. Hint: did you mean 'yes'",
        ),
        (lambda: hand().set_cpt("wet", [[-0.1, 1.1], [0, 1]]), "must contain finite numbers >= 0"),
        (lambda: hand().set_cpt("wet", "odd"), "must be an array of numbers"),
        (lambda: hand().query("wet"), "'wet' has no CPT"),
        (lambda: BayesNetwork().add_node("a", "yes"), "must be a list"),
        (lambda: BayesNetwork().add_node("a", ["x", "x"]), "contain duplicates: 'x'"),
        (lambda: BayesNetwork().add_arc("a", "b").set_cpt("b", [[1.0]]), "values of node 'b' are not declared"),
        (lambda: BayesNetwork("hillclimb").fit({"a": ["x"]}), "did you mean 'hill_climb'"),
        (lambda: BayesNetwork("hill_climb", criterion="bics").fit({"a": ["x"]}), "did you mean 'bic'"),
        (lambda: BayesNetwork([("a", "c")]).fit({"a": ["x"], "b": ["x"]}), "refers to node 'c'"),
        (lambda: BayesNetwork([("a",)]).fit({"a": ["x"]}), "is not an arc"),
        (lambda: BayesNetwork("ordering", order=["a"]).fit({"a": ["x"], "b": ["x"]}), "missing: 'b'"),
        (lambda: BayesNetwork("tan").fit({"a": ["x"], "b": ["x"]}), "needs a class"),
        (lambda: BayesNetwork(smoothing=-1).fit({"a": ["x"]}), "smoothing must be a finite number >= 0"),
        (
            lambda: BayesNetwork(smoothing=Dirichlet(-1)).fit({"a": ["x"]}),
            "equivalent_sample_size must be a number >= 0",
        ),
        (lambda: BayesNetwork(missing="drop").fit({"a": ["x"]}), "missing must be .*, not 'drop'"),
        (
            lambda: BayesNetwork("hill_climb", required=[("a", "b")], forbidden=[("a", "b")]).fit(
                {"a": ["x"], "b": ["y"]}
            ),
            "required and forbidden",
        ),
        (lambda: BayesNetwork().add_node("a", ["x"]).fit({"a": ["y"]}), "'a' is 'y' in row 0"),
        (lambda: BayesNetwork().add_arc("a", "h").fit({"a": ["y"]}), "has no column 'h'"),
        (lambda: BayesNetwork().fit({"a": []}), "empty|0 sample"),
        (lambda: BayesNetwork("hill_climb", tiers=3).fit({"a": ["x"]}), "tiers must be a list of lists of nodes"),
        (lambda: BayesNetwork("hill_climb", tiers={"a": "x"}).fit({"a": ["x"]}), "The tier of 'a' must be"),
        (lambda: BayesNetwork(random_state="a").fit({"a": ["x"]}), "random_state must be"),
        (lambda: BayesNetwork(max_parents=-1).fit({"a": ["x"]}), "max_parents"),
    ],
)
def test_what_is_wrong_is_told(work, told):
    with pytest.raises(CountwiseError, match=told):
        work()


@pytest.mark.parametrize(
    ("queried", "given", "told"),
    [
        ("lungs", {}, "no node 'lungs'. Hint: did you mean 'lung'"),
        ("lung", {"smok": "yes"}, "no node 'smok'. Hint: did you mean 'smoke'"),
        ("lung", {"smoke": "yess"}, "'smoke' has no value 'yess'. Hint: did you mean 'yes'"),
        ("lung", {"either": "no", "lung": "yes"}, "is part of the evidence"),
        ("xray", {"either": "no", "tub": "yes"}, "probability 0"),
        ("lung", {"smoke": {"yes": -1}}, "Soft evidence"),
        ([], {}, "The query contains no node"),
    ],
)
def test_what_cannot_be_queried_is_told(asia, queried, given, told):
    with pytest.raises(OptionError, match=told):
        asia.query(queried, given)


def test_an_unknown_way_to_ask_is_told(asia):
    with pytest.raises(OptionError, match=r"method must be one of .*, not 'exakt'"):
        asia.query("lung", method="exakt")


def test_files_that_are_not_there_or_not_sound_are_told(tmp_path):
    with pytest.raises(ReadError, match="cannot be read"):
        BayesNetwork.read_bif(tmp_path / "none.bif")
    (tmp_path / "odd.bif").write_text('network "n" {\n}\nvariable a {\n type discrete [ 2 ] { x };\n}\n')
    with pytest.raises(ReadError, match="line 4"):
        BayesNetwork.read_bif(tmp_path / "odd.bif")


def test_a_family_beyond_its_budget_is_refused_by_name():
    rng = np.random.default_rng(0)
    frame = {f"a{j}": [f"v{v}" for v in rng.integers(0, 150, 400)] for j in range(4)}
    with pytest.raises(TableError, match="of counts of 'a0'"):
        BayesNetwork({"a3": ["a0", "a1", "a2"]}).fit(frame)


def test_one_valued_empty_and_deterministic_nodes_are_defined():
    frame = {"one": ["x"] * 6, "copy": list("ababab"), "same": list("ababab"), "gone": [None] * 6}
    net = BayesNetwork({"same": ["copy"], "copy": ["one"]}, smoothing=0).fit(frame)
    assert net.query("one") == {"x": 1.0}
    assert net.query("same", {"copy": "a"}) == {"a": 1.0, "b": 0.0}
    assert list(net.marginals()) == ["one", "copy", "same"]
    with pytest.raises(TableError, match="Every value of 'gone' is missing"):
        BayesNetwork({"gone": ["one"]}).fit(frame)
    assert net.most_probable_explanation({"same": "b"}) == {"one": "x", "copy": "b"}
    learned = BayesNetwork("hill_climb").fit({k: v for k, v in frame.items() if k != "gone"})
    assert {frozenset(arc) for arc in learned.graph_.arcs} == {frozenset(("copy", "same"))}


def test_values_that_were_never_seen_are_no_evidence(asia_rows):
    net = BayesNetwork("chow_liu").fit(asia_rows.head(300))
    row = asia_rows.head(1).copy()
    gap, odd = row.copy(), row.copy()
    gap["lung"], odd["lung"] = None, "perhaps"
    assert net.score(odd) == net.score(gap)


def test_a_declared_domain_refuses_other_values():
    with pytest.raises(UnseenValueError):
        BayesNetwork(types={"a": countwise.Nominal("a", ("x", "y"))}).fit({"a": ["x", "z"]})


def test_a_given_end_blocks_every_path():
    net = BayesNetwork({"alarm": ["burglary"], "John": ["alarm"]})
    for one, other, given in (("John", "alarm", "alarm"), ("John", "burglary", "John")):
        shown = net.explain_d_separated(one, other, given=given)
        assert set(shown.sections[0].table["state"]) == {"blocked"}
    same = net.explain_d_separated("John", "John")
    assert same.answer.endswith("a node is not separated from itself.")
    assert same.sections == ()
