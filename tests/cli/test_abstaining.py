"""A model that abstains, on the command line."""

from __future__ import annotations

import json

import pytest

from countwise import RoteClassifier, save

from .running import run


@pytest.fixture
def files(tmp_path):
    model = RoteClassifier("abstain").fit({"x": [1, 2, 2], "z": ["u", "v", "v"]}, ["a", "b", "b"])
    save(model, tmp_path / "m.json")
    (tmp_path / "new.csv").write_text("x,z,class\n1,u,a\n9,u,b\n2,v,a\n8,v,b\n", encoding="utf-8")
    (tmp_path / "none.csv").write_text("x,z,class\n9,u,b\n", encoding="utf-8")
    return tmp_path


def test_the_command_predict_leaves_rows_without_a_prediction_empty_and_counts_them(files):
    done = run("predict", str(files / "m.json"), str(files / "new.csv"))
    assert done.stdout.splitlines() == ["class,P(a),P(b)", "a,1,0", ",,", "b,0,1", ",,"]
    assert "the model abstains for 2 rows" in done.stderr
    bare = run("predict", str(files / "m.json"), str(files / "new.csv"), "--no-proba")
    assert bare.stdout.splitlines() == ["class", "a", '""', "b", '""']
    assert "abstains for 2 rows" in bare.stderr


def test_the_command_test_shows_the_coverage(files):
    done = run("test", str(files / "m.json"), str(files / "new.csv"), "--json", "--by", "z")
    report = json.loads(done.stdout)
    assert (report["rows"], report["abstained"]) == (4, 2)
    assert (report["scores"]["accuracy"], report["scores"]["coverage"]) == (0.5, 0.5)
    assert [row["coverage"] for row in report["by"]] == [0.5, 0.5]
    assert [row["accuracy"] for row in report["by"]] == [1.0, 0.0]
    text = run("test", str(files / "m.json"), str(files / "new.csv"), "--charts").stdout
    assert "The model abstains for 2 rows; the scores are those of the other rows." in text
    none = run("test", str(files / "m.json"), str(files / "none.csv"), check=1)
    assert "there is nothing to score" in none.stderr
