"""What commands write: any character in any encoding, no control characters, no formulas, a closed output."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import countwise as cw
from countwise.errors import CountwiseError, printable, warn
from countwise.io.spreadsheets import guarded, unguarded

from .running import ENVIRONMENT, run

CONTROL = [
    *map(chr, range(32)),
    *map(chr, range(127, 160)),
    *"\u061c\u200e\u200f\u2028\u2029\u202a\u202e\u2066\u2069\ufeff",
]
ESCAPED = [c for c in CONTROL if c not in "\n\t"]


@pytest.fixture
def odd(tmp_path):
    """A table and a model whose names, values and classes have control characters."""
    names = ["x\x1b[31m", "b\u202e", "y\x07"]
    odd = "\x9b\x7f\u2066"
    lines = [f"{i},v{odd[i % 3]},{'pq'[i % 2]}\x1b]0;owned\x07" for i in range(12)]
    (tmp_path / "t.csv").write_text("\n".join([",".join(names), *lines, ""]), encoding="utf-8")
    for model in ("naive-bayes", "tree", "rules", "network"):
        run("train", "t.csv", "-y", "y\x07", "--model", model, "-o", f"{model}.json", cwd=tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "args",
    [
        ["look", "t.csv", "-y", "y\x07"],
        ["look", "t.csv", "--json"],
        ["rank", "t.csv", "-y", "y\x07"],
        ["bin", "t.csv", "-y", "y\x07"],
        ["test", "naive-bayes.json", "t.csv"],
        ["train", "t.csv", "-y", "y\x07", "-o", "m.json"],
        ["update", "naive-bayes.json", "t.csv"],
        *(["show", f"{model}.json"] for model in ("naive-bayes", "tree", "rules", "network")),
        ["show", "tree.json", "--json"],
        *(["explain", f"{model}.json", "t.csv"] for model in ("naive-bayes", "tree", "rules", "network")),
        ["explain", "naive-bayes.json", "t.csv", "--format", "html"],
        ["explain", "naive-bayes.json", "t.csv", "--format", "latex"],
        ["explain", "naive-bayes.json", "t.csv", "--format", "json"],
        ["explain", "naive-bayes.json", "--set", "none\x1b=1"],
        ["ask", "network.json", "y\x07"],
        ["look", "none\x1b.csv"],
        ["look", "t.csv", "-y", "none\x1b"],
        ["none\x1b"],
        ["look", "--none\x1b"],
        ["train", "t.csv", "-y", "y\x07", "--types", "x\x1b[31m"],
    ],
    ids=" ".join,
)
def test_no_control_character_of_a_table_reaches_the_terminal(odd, args):
    done = run(*args, cwd=odd, check=None)
    assert done.returncode in (0, 1, 2)
    for text in (done.stdout, done.stderr):
        assert not set(text) & set(ESCAPED), ascii(text)


@given(st.text(alphabet=st.one_of(st.sampled_from(CONTROL), st.characters(), st.characters(categories=["Cs"]))))
def test_an_escaped_text_has_no_control_character_and_escaping_it_again_changes_nothing(text):
    shown = printable(text)
    assert not set(shown) & set(ESCAPED)
    assert printable(shown) == shown
    shown.encode()
    assert not set(printable(text, lines=False)) & set(CONTROL)


def test_messages_and_warnings_have_no_control_characters():
    assert str(CountwiseError("a\x1b", hint="b\u202e")) == r"a\x1b Hint: b\u202e"
    with pytest.warns(UserWarning, match=r"a\\x1b"):
        warn("a\x1b")


def test_a_cell_with_a_line_break_does_not_break_a_table():
    from countwise.working import Grid

    assert str(Grid({"a\n": ["x\ny", "漢\t"], "n": [1, 2]})).splitlines() == [r"a\n   n", r"x\ny  1", "漢\\t  2"]


# -- encodings ------------------------------------------------------------------------------------


def apart(*args, cwd, **env):
    return subprocess.run(
        [sys.executable, "-m", "countwise", *args],
        cwd=cwd,
        capture_output=True,
        timeout=120,
        env={**ENVIRONMENT, **env},
    )


@pytest.mark.parametrize(
    "env",
    [
        {"PYTHONIOENCODING": "cp1252"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    ],
    ids=str,
)
def test_every_character_is_written_in_every_encoding(tmp_path, env):
    rows = [f"{i},{'漢é→'[i % 3]},{'ü😀'[i % 2]}" for i in range(12)]
    (tmp_path / "t.csv").write_text("\n".join(["x,b,y", *rows, ""]), encoding="utf-8")
    run("train", "t.csv", "-y", "y", "-o", "m.json", cwd=tmp_path)
    run("train", "t.csv", "-y", "y", "--model", "tree", "-o", "tree.json", cwd=tmp_path)
    for args in (["explain", "m.json", "t.csv"], ["show", "tree.json"], ["look", "t.csv", "-y", "none漢"]):
        done = apart(*args, cwd=tmp_path, **env)
        assert b"Traceback" not in done.stderr, done.stderr
        assert done.returncode == (1 if "look" in args else 0)
    done = apart("predict", "m.json", "t.csv", cwd=tmp_path, **env)
    assert {row[0] for row in csv.reader(io.StringIO(done.stdout.decode()))} == {"y", "ü", "😀"}
    assert json.loads(apart("look", "t.csv", "--json", cwd=tmp_path, **env).stdout.decode())["rows"] == 12


def test_characters_that_a_terminal_does_not_have_are_replaced_by_similar_ones(tmp_path):
    run("samples", "weather", "-o", "w.csv", cwd=tmp_path)
    run("train", "w.csv", "-y", "play", "-o", "m.json", cwd=tmp_path)
    shown = apart("explain", "m.json", "--set", "temperature=66", cwd=tmp_path, PYTHONIOENCODING="cp1252").stdout
    assert b"phi(66; 73, " in shown


# -- a closed or full output ------------------------------------------------------------------------


@pytest.fixture
def trained(tmp_path):
    (tmp_path / "t.csv").write_text("a,y\n1,p\n2,q\n")
    run("train", "t.csv", "-y", "y", "-o", "m.json", cwd=tmp_path)
    return tmp_path


@pytest.mark.skipif(os.name == "nt", reason="of POSIX shells")
@pytest.mark.parametrize("args", ["predict m.json t.csv", "look t.csv", "look t.csv --json", "explain m.json t.csv"])
@pytest.mark.parametrize("shell", [">&-", "> /dev/full", ">&- 2>&-"])
def test_an_output_that_cannot_be_written_is_one_line(trained, args, shell):
    if "full" in shell and not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full")
    call = f'"{sys.executable}" -m countwise {args} {shell}'
    done = subprocess.run(call, shell=True, cwd=trained, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    if "2>&-" not in shell:
        assert done.stderr.startswith("Error: standard output: ")
        assert done.stderr.count("\n") == 1


@pytest.mark.skipif(os.name == "nt", reason="of POSIX shells")
def test_a_reader_that_ends_early_is_no_error(trained):
    call = f'"{sys.executable}" -m countwise samples credit | head -1; exit ${{PIPESTATUS[0]}}'
    done = subprocess.run(["bash", "-c", call], cwd=trained, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0
    assert done.stderr == ""


# -- CSV --------------------------------------------------------------------------------------------


@given(st.text(alphabet=st.one_of(st.sampled_from("'=+-@\t\r\n1. ,\""), st.characters()), max_size=6))
def test_a_guarded_text_is_no_formula_and_is_read_back_as_it_was(text):
    shown = guarded(text)
    assert unguarded(shown) == text
    assert len(shown) < 2 or shown[0] not in "=+-@\t\r" or float(shown) is not None


@pytest.mark.parametrize("text", ["-5", "+1.5e-3", ".5", "-", "+", "=", "a=1", "", "'x", "<=50K"])
def test_numbers_signs_and_other_texts_are_written_as_they_are(text):
    assert guarded(text) == text


LABELS = ["=1+1", "@SUM(A1)", "+x", "-x", "'=1", "''-y", "a\rb", "\r", "c\nd", "e,f", 'g"h', "\tt", "-5", "+", " i "]


def test_predictions_are_read_back_as_the_classes_that_they_are(tmp_path):
    n = 4 * len(LABELS)
    x, y = np.arange(n) % len(LABELS) * 10.0, np.array([LABELS[i % len(LABELS)] for i in range(n)], dtype=object)
    model = cw.TreeClassifier().fit({"x": x}, y)
    cw.save(model, tmp_path / "m.json")
    (tmp_path / "t.csv").write_text("x\n" + "".join(f"{v:g}\n" for v in x))
    done = run("predict", "m.json", "t.csv", "-o", "p.csv", "--no-proba", cwd=tmp_path)
    assert done.stderr.count("Note: ") == 1
    assert cw.read(tmp_path / "p.csv")["class"].tolist() == model.predict({"x": x}).tolist() == y.tolist()
    raw = (tmp_path / "p.csv").read_bytes().decode()
    assert not any(f"\n{c}" in raw for c in "=@\t")
    rows = list(csv.reader(io.StringIO(raw, newline="")))
    assert {len(row) for row in rows} == {1}
    run("predict", "m.json", "t.csv", "-o", "raw.csv", "--no-proba", "--raw", cwd=tmp_path)
    with (tmp_path / "raw.csv").open(newline="", encoding="utf-8") as file:
        assert [row[0] for row in csv.reader(file)][1:] == y.tolist()


def test_test_and_update_know_the_predictions_again(tmp_path):
    (tmp_path / "t.csv").write_text("a,y\n" + "".join(f"{i % 2},{['=1+1', 'q'][i % 2]}\n" for i in range(20)))
    run("train", "t.csv", "-y", "y", "-o", "m.json", cwd=tmp_path)
    out = run("predict", "m.json", "t.csv", "--no-proba", cwd=tmp_path).stdout
    assert "\n=1+1" not in out
    labels = out.splitlines()[1:]
    (tmp_path / "p.csv").write_text("a,y\n" + "".join(f"{i % 2},{label}\n" for i, label in enumerate(labels)))
    assert json.loads(run("test", "m.json", "p.csv", "--json", cwd=tmp_path).stdout)["scores"]["accuracy"] == 1
    run("update", "m.json", "p.csv", cwd=tmp_path)
    assert cw.load(tmp_path / "m.json").classes_.tolist() == ["=1+1", "q"]


def test_a_text_without_a_representation_in_utf_8_is_one_line(tmp_path):
    cw.save(cw.RoteClassifier().fit({"a": [0, 1]}, np.array(["\ud800", "x"], dtype=object)), tmp_path / "m.json")
    (tmp_path / "t.csv").write_text("a\n0\n1\n")
    for output in ("-", "p.csv"):
        done = run("predict", "m.json", "t.csv", "-o", output, cwd=tmp_path, check=1)
        assert "lone surrogate" in done.stderr
        assert done.stderr.count("\n") == 1
    assert not (tmp_path / "p.csv").exists()
