"""BIF files: what is written is read back, whatever the names are; what contradicts itself is refused."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from countwise import BayesNetwork
from countwise.errors import CountwiseError, OptionError, ReadError
from countwise.network.bif import read_bif, write_bif

odd_text = st.text(
    alphabet=st.one_of(st.sampled_from('{}()[];,|"\\/* \n\r\t'), st.characters(exclude_categories=["Cs"])), max_size=8
)


two_or_three = st.lists(odd_text, min_size=2, max_size=3, unique=True)


@given(odd_text, two_or_three, two_or_three)
def test_any_names_are_read_back_as_they_were(name, nodes, values):
    nodes, values = nodes[:2], tuple(values)
    k = len(values)
    written = dict.fromkeys(nodes, values)
    parents = {nodes[0]: (), nodes[1]: (nodes[0],)}
    tables = {nodes[0]: np.full(k, 1 / k), nodes[1]: np.full((k, k), 1 / k)}
    found = read_bif(write_bif(name, written, parents, tables))
    assert (found.name, found.values, found.parents) == (name, written, parents)
    assert all(np.array_equal(found.tables[node], tables[node]) for node in nodes)


def test_a_file_keeps_carriage_returns_in_names(tmp_path):
    BayesNetwork().add_node("a\rb", ["x\r\ny", "z"], [0.25, 0.75]).write_bif(tmp_path / "n.bif")
    assert BayesNetwork.read_bif(tmp_path / "n.bif").query("a\rb")["x\r\ny"] == 0.25


HEAD = (
    "network n { } variable A { type discrete [ 2 ] { t, f }; } variable B { type discrete [ 2 ] { t, f }; } "
    "probability ( A ) { table 0.5, 0.5; } "
)


@pytest.mark.parametrize(
    "rest",
    [
        "probability ( B | A ) { (t) 0.5, 0.5; (t) 0.9, 0.1; (f) 0.5, 0.5; }",
        "probability ( B | A ) { (t) 0.5, 0.5; (t) 0.5, 0.5; (f) 0.5, 0.5; }",
        "probability ( B | A ) { table 0.5, 0.5, 0.5, 0.5; (f) 0.5, 0.5; }",
        "probability ( B | A ) { (f) 0.5, 0.5; table 0.5, 0.5, 0.5, 0.5; }",
        "probability ( B ) { table 0.5, 0.5; table 0.5, 0.5; }",
        "probability ( B | A ) { default 0.5, 0.5; default 0.5, 0.5; }",
        "probability ( B | A ) { (t) nan, nan; (t) 0.9, 0.1; (f) 0.5, 0.5; }",
        "probability ( B | A, A ) { default 0.5, 0.5; }",
        "probability ( B | B ) { default 0.5, 0.5; }",
        "probability ( B ) { table 1.5, -0.5; }",
        "probability ( B ) { table 1e999, 0; }",
        "probability ( B ) { table 0.5, 0.5; } probability ( B ) { table 0.5, 0.5; }",
        "probability ( B ) { table 0.5, 0.5; } variable C { type discrete [ " + "9" * 5000 + " ] { t, f }; }",
        "probability ( B ) { table 0.5, 0.5; } /* never closed",
        'probability ( B ) { table 0.5, 0.5; } "never closed',
    ],
)  # fmt: skip
def test_a_file_that_contradicts_itself_is_refused_in_one_line(rest):
    with pytest.raises(ReadError) as caught:
        read_bif(HEAD + rest)
    assert "\n" not in str(caught.value)


def test_a_default_fills_the_rows_that_are_not_given():
    found = read_bif(HEAD + "probability ( B | A ) { default 0.5, 0.5; (t) 0.9, 0.1; }")
    assert found.tables["B"].tolist() == [[0.9, 0.1], [0.5, 0.5]]


def test_a_cycle_of_arcs_is_refused(tmp_path):
    text = (
        "variable A { type discrete [ 1 ] { t }; } variable B { type discrete [ 1 ] { t }; } "
        "probability ( A | B ) { (t) 1; } probability ( B | A ) { (t) 1; }"
    )
    (tmp_path / "n.bif").write_text(text)
    with pytest.raises(CountwiseError, match="cycle"):
        BayesNetwork.read_bif(tmp_path / "n.bif").query("A")


def test_a_table_too_large_for_memory_is_refused_before_it_is_made():
    names = [f"v{i}" for i in range(40)]
    text = "".join(f"variable {name} {{ type discrete [ 2 ] {{ t, f }}; }} " for name in names)
    with pytest.raises(ReadError, match="combinations"):
        read_bif(f"{text} probability ( v0 | {', '.join(names[1:])} ) {{ default 0.5, 0.5; }}")


def test_many_opened_comments_take_no_longer_than_one():
    start = time.process_time()
    with pytest.raises(ReadError):
        read_bif("/* " * 200_000)
    assert time.process_time() - start < 5


@pytest.mark.parametrize("values", [[1, "1"], ["\ud800", "x"]])
def test_values_that_a_file_cannot_hold_are_refused(tmp_path, values):
    net = BayesNetwork().add_node("a", values, [0.5, 0.5])
    with pytest.raises(OptionError):
        net.write_bif(tmp_path / "n.bif")
    assert not (tmp_path / "n.bif").exists()
