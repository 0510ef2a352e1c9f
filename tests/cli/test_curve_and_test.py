"""`countwise curve` and `countwise test` as a person meets them."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
import warnings
from contextlib import chdir, redirect_stderr, redirect_stdout
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss, confusion_matrix, log_loss, roc_auc_score

import countwise
from countwise import samples
from countwise.cli import main

from .running import ENVIRONMENT


def run(*args: str, cwd=".", check: int = 0) -> SimpleNamespace:
    """What a command answers, in this process: a start of Python for each would take minutes."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    with warnings.catch_warnings(), chdir(cwd), redirect_stdout(out), redirect_stderr(err):
        warnings.simplefilter("default")
        with pytest.raises(SystemExit) as left:
            main(list(args))
    texts = []
    for stream in (out, err):
        stream.seek(0)
        texts.append(stream.read())
    assert left.value.code == check, texts
    return SimpleNamespace(stdout=texts[0], stderr=texts[1])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("judging")
    for name in ("tennis", "penguins", "credit"):
        run("samples", name, "-o", str(place / f"{name}.csv"))
    lines = (place / "credit.csv").read_text().splitlines()
    (place / "learned.csv").write_text("\n".join(lines[:3001]) + "\n")
    (place / "new.csv").write_text("\n".join([lines[0], *lines[3001:]]) + "\n")
    run("train", "learned.csv", "-y", "Status", "-o", "credit.json", cwd=place)
    run("train", "tennis.csv", "-y", "play", "-o", "tennis.json", cwd=place)
    return place


def told(folder, *args: str) -> dict:
    return json.loads(run(*args, "--json", cwd=folder).stdout)


def written(folder, name: str, rows: list[dict]) -> str:
    names = ["outlook", "temperature", "humidity", "wind", "play", *(["who"] if "who" in rows[0] else [])]
    with open(folder / name, "w", newline="") as out:  # what is not given is missing
        writer = csv.DictWriter(out, names)
        writer.writeheader()
        writer.writerows(rows)
    return name


# -- test ----------------------------------------------------------------------------------------------------------


def test_the_scores_are_those_of_the_model_on_the_rows(folder):
    found = told(folder, "test", "credit.json", "new.csv")
    model, frame = countwise.load(folder / "credit.json"), countwise.read(folder / "new.csv")
    y, proba = np.array(frame["Status"]), model.predict_proba(frame)
    assert found["rows"] == len(y) == 1454
    scores = found["scores"]
    assert scores["accuracy"] == pytest.approx((model.predict(frame) == y).mean(), abs=1e-12)
    own = np.where(y == "good", proba[:, 1], proba[:, 0])
    assert scores["log_loss"] == pytest.approx(-np.log(own).mean(), abs=1e-10)
    # scikit-learn raises what is tiny to 2e-16; here nothing is clipped
    assert own.min() < 1e-20
    assert log_loss(y, proba) == pytest.approx(-np.log(own.clip(np.finfo(float).eps)).mean(), abs=1e-10)
    assert scores["brier"] == pytest.approx(brier_score_loss(y == "good", proba[:, 1]), abs=1e-10)
    assert scores["roc_auc"] == pytest.approx(roc_auc_score(y == "good", proba[:, 1]), abs=1e-10)
    assert found["confusion"] == confusion_matrix(y, model.predict(frame)).tolist()
    assert found["majority_class"]["class"] == "good"
    assert found["majority_class"]["accuracy"] == pytest.approx((y == "good").mean(), abs=1e-12)
    assert found["majority_class"]["roc_auc"] == 0.5


def test_the_baseline_is_the_class_that_was_most_frequent_in_learning(folder):
    rows = [{"outlook": "Sunny", "play": "No"}] * 3 + [{"outlook": "Overcast", "play": "Yes"}]
    found = told(folder, "test", "tennis.json", written(folder, "mostly_no.csv", rows))
    assert found["majority_class"]["class"] == "Yes"  # 9 of the 14 days that were learned from
    assert found["majority_class"]["accuracy"] == 0.25


def test_the_decision_of_least_cost_is_the_threshold_that_is_told(folder):
    found = told(folder, "test", "credit.json", "new.csv", "--cost", "fn=5,fp=1", "--positive", "bad")["cost"]
    model, frame = countwise.load(folder / "credit.json"), countwise.read(folder / "new.csv")
    y = np.array(frame["Status"])
    answers = np.where(model.predict_proba(frame)[:, 0] > found["threshold"], "bad", "good")
    price = 5 * ((y == "bad") & (answers == "good")) + ((y == "good") & (answers == "bad"))
    assert found["threshold"] == pytest.approx(1 / 6)
    assert found["cheapest"]["mean_cost"] == pytest.approx(price.mean(), abs=1e-12)
    assert found["cheapest"]["mean_cost"] < found["most_probable"]["mean_cost"]
    assert found["costs"] == [[0, 5], [1, 0]]
    out = run("test", "credit.json", "new.csv", "--cost", "bad:good=5,good:bad=1", cwd=folder).stdout
    assert "Predicting good has the lower expected cost if P(good) > 0.8333." in out


@pytest.mark.parametrize(
    ("cost", "line"),
    [
        ("fn=1,fp=-1", "Predicting Yes always has the lower expected cost."),
        ("fp=1", "Predicting Yes never has the lower expected cost."),
        ("tp=1,tn=1", "There is no threshold: correct predictions cost more than errors."),
        ("fn=1,fp=1,tp=-2", "Predicting Yes has the lower expected cost if P(Yes) > 0.25."),
    ],
)
def test_odd_costs_are_said_for_what_they_are(folder, cost, line):
    assert line in run("test", "tennis.json", "tennis.csv", "--cost", cost, cwd=folder).stdout


def test_groups_have_scores_of_their_own_also_groups_of_one_row(folder):
    rows = samples.load("tennis").frame
    rows = [{name: rows[name][i] for name in rows} | {"who": "a" if i else "b"} for i in range(14)]
    file = written(folder, "who.csv", rows)
    found = {row["who"]: row for row in told(folder, "test", "tennis.json", file, "--by", "who")["by"]}
    assert (found["a"]["rows"], found["b"]["rows"]) == (13, 1)
    assert found["b"]["roc_auc"] is None
    assert found["b"]["accuracy"] in (0.0, 1.0)
    assert "undefined" in run("test", "tennis.json", file, "--by", "who", cwd=folder).stdout
    odd = run("test", "tennis.json", file, "--by", "whom", cwd=folder, check=1)
    assert "did you mean 'who'" in odd.stderr


def test_rows_of_one_class_have_no_auc_and_that_is_said(folder):
    file = written(folder, "yes.csv", [{"outlook": "Sunny", "play": "Yes"}, {"outlook": "Rain", "play": "Yes"}])
    assert told(folder, "test", "tennis.json", file)["scores"]["roc_auc"] is None
    assert "Note: roc_auc is undefined" in run("test", "tennis.json", file, "--charts", cwd=folder).stdout


def test_constant_probabilities_are_said_not_to_rank(folder):
    file = written(folder, "same.csv", [{"outlook": "Sunny", "play": c} for c in ("Yes", "No", "No")])
    assert told(folder, "test", "tennis.json", file)["scores"]["roc_auc"] == 0.5
    assert "All rows have the same predicted probabilities" in run("test", "tennis.json", file, cwd=folder).stdout


def test_a_class_that_the_model_never_met_counts_as_wrong_and_is_named(folder):
    rows = [{"outlook": "Overcast", "play": c} for c in ("Yes", "Yes", "Maybe", "")]
    file = written(folder, "maybe.csv", rows)
    found = told(folder, "test", "tennis.json", file, "--cost", "fn=5,fp=1")
    assert found["classes_never_met"] == {"Maybe": 1}
    assert found["without_class"] == 1
    assert found["scores"]["accuracy"] == pytest.approx(2 / 3)
    assert (found["scores"]["log_loss"], found["zeros"]) == ("inf", 1)
    assert found["cost"]["rows"] == 2
    out = run("test", "tennis.json", file, cwd=folder).stdout
    assert "Class 'Maybe' was never seen in training: its 1 row cannot be predicted correctly." in out
    assert "1 row without a class skipped." in out
    assert "log_loss is infinite: the true class of 1 row has probability 0. For the other 2 rows it is" in out


def test_probabilities_of_exactly_0_are_stated_and_not_clipped(folder):
    run("train", "tennis.csv", "-y", "play", "--smoothing", "0", "-o", "raw.json", cwd=folder)
    rows = [{"outlook": "Overcast", "play": "No"}, {"outlook": "Sunny", "play": "No"}]
    found = told(folder, "test", "raw.json", written(folder, "zero.csv", rows))
    assert (found["scores"]["log_loss"], found["zeros"]) == ("inf", 1)


@pytest.mark.parametrize(
    ("args", "status", "told"),
    [
        (["tennis.json", "penguins.csv"], 1, "penguins.csv has no target column 'play'."),
        (["tennis.json", "tennis.csv", "--cost", "fnn=5"], 1, "did you mean 'fn'?"),
        (["tennis.json", "tennis.csv", "--cost", "Yess:No=5"], 1, "did you mean 'Yes'?"),
        (["tennis.json", "tennis.csv", "--cost", "fn=much"], 1, "must be a number"),
        (["tennis.json", "tennis.csv", "--cost", "fn"], 2, "must be NAME=VALUE"),
        (["tennis.json", "tennis.csv", "--cost", "fn=5", "--positive", "Yess"], 1, "did you mean 'Yes'?"),
        (["tennis.json", "tennis.csv", "--positive", "Yes"], 2, "--positive needs --cost"),
        (["tennis.json", "nowhere.csv"], 1, "nowhere.csv"),
        (["tennis.json", "tennis.csv", "-y", "plai"], 1, "did you mean 'play'? Name the column with -y."),
    ],
)
def test_bad_input_is_one_line(folder, args, status, told):
    done = run("test", *args, cwd=folder, check=status)
    assert told in done.stderr
    assert done.stdout == ""
    assert status == 2 or done.stderr.count("\n") == 1


def test_every_classifier_that_can_be_trained_can_be_tested(folder):
    for kind in ("tree", "rules", "neighbors", "rote"):
        run("train", "tennis.csv", "-y", "play", "--model", kind, "-o", f"{kind}.json", cwd=folder)
        out = run("test", f"{kind}.json", "tennis.csv", cwd=folder).stdout
        assert ("always Yes" in out) == (kind != "rules")  # rules do not keep how frequent the classes were
        assert "predicted Yes" in out
    run("train", "penguins.csv", "-y", "year", "--model", "regression-tree", "-o", "number.json", cwd=folder)
    assert (
        "does not predict class probabilities"
        in run("test", "number.json", "penguins.csv", cwd=folder, check=1).stderr
    )


# -- curve ---------------------------------------------------------------------------------------------------------


def test_a_curve_is_that_of_the_function(folder):
    args = ("--sizes", "20,60,200", "--repeats", "3", "--model", "naive-bayes", "--model", "tree")
    found = told(folder, "curve", "penguins.csv", "-y", "species", *args)
    frame = countwise.read(folder / "penguins.csv")
    learners = {"naive-bayes": countwise.NaiveBayesClassifier(), "tree": countwise.TreeClassifier()}
    wanted = countwise.learning_curve(learners, frame, "species", train_sizes=[20, 60, 200], repeats=3)
    assert found["sizes"] == [20, 60, 200]
    for name in learners:
        np.testing.assert_allclose(found["test"][name], wanted.test[name], atol=1e-12)
        np.testing.assert_allclose(found["train"][name], wanted.train[name], atol=1e-12)


def test_a_curve_prints_a_table_and_a_chart_and_writes_a_picture_and_numbers(folder):
    for output in ("curve.svg", "curve.csv"):
        out = run("curve", "tennis.csv", "-y", "play", "--repeats", "3", "-o", output, cwd=folder).stdout
        assert out.split()[:4] == ["learner", "rows", "train_error", "train_sd"]
        assert out.rstrip().endswith("test error  ○ train error")
    assert (folder / "curve.svg").read_text().lstrip().startswith("<?xml")
    with open(folder / "curve.csv", newline="") as text:
        rows = list(csv.DictReader(text))
    assert len(rows) == 3 * 5
    assert {row["learner"] for row in rows} == {"naive-bayes"}


def test_charts_are_plain_ascii_where_the_terminal_is(folder):
    done = subprocess.run(
        [sys.executable, "-c", "from countwise.cli import main; main()", "curve", "tennis.csv", "-y", "play"],
        capture_output=True, cwd=folder, timeout=120, env={**ENVIRONMENT, "PYTHONIOENCODING": "ascii"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii()
    assert done.stdout.rstrip().endswith(b"* test error  o train error")


def test_curves_over_k_and_widths(folder):
    found = told(folder, "curve", "penguins.csv", "-y", "species", "--k", "1,5,25")
    assert (found["setting"], [row["n_neighbors"] for row in found["curve"]]) == ("n_neighbors", [1, 5, 25])
    assert found["best"] == 5
    out = run("curve", "penguins.csv", "-y", "species", "--k", "3:5", cwd=folder).stdout
    assert out.rstrip().split("\n")[-1].startswith("Best n_neighbors: ")
    keep = ("--drop", "island,sex,year,body_mass_g,flipper_length_mm")
    found = told(folder, "curve", "penguins.csv", "-y", "species", "--widths", "0.5:8:3", *keep)
    frame = countwise.read(folder / "penguins.csv")
    bills = {name: frame[name] for name in ("species", "bill_length_mm", "bill_depth_mm")}
    wanted = countwise.validation_curve(countwise.ParzenClassifier(), bills, "species", param_range=[0.5, 2.0, 8.0])
    assert [row["bandwidth"] for row in found["curve"]] == [0.5, 2.0, 8.0]
    assert [row["held_out"] for row in found["curve"]] == pytest.approx(wanted.held_out, abs=1e-12)
    assert found["best"] == wanted.best
    narrow = ("--widths", "1e-6,1e-5", "--option", "kernel=uniform")
    tiny = run("curve", "penguins.csv", "-y", "species", *narrow, *keep, cwd=folder).stdout
    assert "No best bandwidth" in tiny


@pytest.mark.parametrize(
    ("args", "status", "told"),
    [
        (["tennis.csv", "-y", "plai"], 1, "did you mean 'play'"),
        (["tennis.csv", "-y", "play", "--score", "acuracy"], 1, "did you mean 'accuracy'"),
        (
            ["tennis.csv", "-y", "play", "--k", "9:1"],
            2,
            "--k must be FROM:TO with FROM <= TO, such as 1:30, or a list such as 1,3,5",
        ),
        (["tennis.csv", "-y", "play", "--k", "0:3"], 1, "n_neighbors must be numbers > 0"),
        (["tennis.csv", "-y", "play", "--widths", "wide"], 2, "--widths must be FROM:TO or FROM:TO:N"),
        (["tennis.csv", "-y", "play", "--k", "1:3", "--widths", "1,2"], 2, "not both"),
        (["tennis.csv", "-y", "play", "--k", "1:3", "--model", "tree"], 1, "no parameter 'n_neighbors'"),
        (["tennis.csv", "-y", "play", "--sizes", "5,99"], 1, "must be from 1 to"),
        (["tennis.csv", "-y", "play", "--sizes", "few"], 2, "--sizes must be a list such as"),
        (["tennis.csv", "-y", "play", "-o", "curve.xls"], 2, "The file of -o must end in"),
        (["tennis.csv", "-y", "play", "-o", "tennis.csv"], 1, "cannot be overwritten"),
        (["tennis.csv", "-y", "play", "--option", "smothing=1"], 2, "did you mean 'smoothing'"),
    ],
)
def test_a_curve_that_cannot_be_made_is_refused(folder, args, status, told):
    done = run("curve", *args, cwd=folder, check=status)
    assert told in done.stderr
    assert done.stdout == ""


def test_help_lists_both_commands():
    out = run("--help").stdout
    assert "curve" in out
    assert "Evaluate a model on rows whose class is known." in out
