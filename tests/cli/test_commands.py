"""The command line as a person meets it."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from fractions import Fraction

import pytest

from countwise import samples

from .running import run, run_apart


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("cli")
    for name in ("tennis", "weather", "mail", "loan", "credit", "penguins"):
        run("samples", name, "-o", str(place / f"{name}.csv"))
    return place


def trained(folder, name: str, target: str, *options: str) -> str:
    model = folder / f"{name}{abs(hash(options))}.json"
    run("train", str(folder / f"{name}.csv"), "-y", target, "-o", str(model), *options)
    return str(model)


def explained(model: str, *options: str) -> dict:
    return json.loads(run("explain", model, "--format", "json", "--interval", "0", *options).stdout)


def shares(working: dict) -> dict[str, float]:
    return dict(zip(map(str, working["classes"]), working["posterior"], strict=True))


def test_g7_by_the_command_line(folder):
    model = trained(folder, "tennis", "play", "--smoothing", "0")
    working = explained(model, "--set", "outlook=Sunny,temperature=Cool,humidity=High,wind=Strong")
    assert working["answer"] == "No"
    assert working["exact_joint"] == ["18/875", "1/189"]
    assert working["exact_posterior"] == ["486/611", "125/611"]


def test_g8_by_the_command_line_an_attribute_not_named_is_missing(folder):
    model = trained(folder, "tennis", "play", "--smoothing", "0")
    working = explained(model, "--set", "temperature=Cool,humidity=High,wind=Strong")
    assert working["exact_joint"] == ["6/175", "1/42"]
    assert working["exact_posterior"] == ["36/61", "25/61"]


def test_g15_by_the_command_line(folder):
    model = trained(folder, "weather", "play", "--smoothing", "0")
    working = explained(model, "--set", "outlook=sunny,temperature=66,humidity=90,windy=TRUE")
    assert shares(working)["yes"] == pytest.approx(0.20790207382140563, rel=1e-9)


def test_g18_by_the_command_line(folder):
    model = trained(folder, "mail", "label", "--smoothing", "0", "--distribution", "text=bernoulli")
    working = explained(model, "--set", "text=review us now")
    assert working["exact_posterior"] == ["9/73", "64/73"]
    assert any("now" in note for note in working["notes"])


def test_g22_by_the_command_line(folder):
    laws = ("--distribution", "job_years=categorical")
    model = trained(folder, "loan", "default", "--smoothing", "0", *laws)
    working = explained(model, "--set", "home_owner=No,marital=Married,job_years=3")
    assert [Fraction(x) for x in working["exact_joint"]] == [Fraction(16, 245), Fraction(1, 45)]
    assert working["exact_posterior"][0] == "144/193"


@pytest.mark.parametrize(
    ("args", "status"),
    [
        (["samples", "tennis"], 0),
        (["look", "tennis.csv"], 0),
        (["train", "tennis.csv", "-y", "play", "-o", "apart.json"], 0),
        (["train", "tennis.csv", "-y", "rain", "-o", "apart.json"], 1),
        (["rank", "tennis.csv", "-y", "play"], 0),
        (["compare", "tennis.csv", "-y", "play", "--only", "naive bayes", "--cv", "2"], 0),
        (["predict", "there is none.json", "tennis.csv"], 1),
        (["no such command"], 2),
    ],
)
def test_a_process_of_its_own_says_the_same(folder, args, status):
    alone, here = (how(*args, cwd=folder, check=None) for how in (run_apart, run))
    assert (alone.returncode, here.returncode) == (status, status)
    seconds = args[0] in ("compare", "train")  # what it took is told
    assert alone.stderr == here.stderr
    assert seconds or alone.stdout == here.stdout


def test_predict_writes_one_line_a_row_with_probabilities(folder):
    model = trained(folder, "weather", "play")
    rows = list(csv.DictReader(io.StringIO(run("predict", model, str(folder / "weather.csv")).stdout)))
    assert len(rows) == 14
    assert all(abs(float(r["P(no)"]) + float(r["P(yes)"]) - 1) < 1e-5 for r in rows)
    assert {r["play"] for r in rows} <= {"yes", "no"}


def test_predict_needs_no_target_column_and_minds_no_order_of_columns(folder):
    model = trained(folder, "weather", "play")
    lines = (folder / "weather.csv").read_text().splitlines()
    table = list(csv.reader(lines))
    keep = [table[0].index(name) for name in ("windy", "humidity", "outlook", "temperature")]
    other = folder / "other.csv"
    other.write_text("\n".join(",".join(row[k] for k in keep) for row in table) + "\n")
    whole = run("predict", model, str(folder / "weather.csv")).stdout
    assert run("predict", model, str(other)).stdout == whole


def test_explain_a_row_of_a_file(folder):
    model = trained(folder, "weather", "play")
    text = run("explain", model, str(folder / "weather.csv"), "--row", "2").stdout
    assert "P(outlook = overcast | play)" in text
    assert run("explain", model, str(folder / "weather.csv"), "--row", "99", check=1).stderr.startswith("Error: ")


@pytest.mark.parametrize(("form", "sign"), [("latex", r"\begin{align*}"), ("html", "<table>"), ("text", "posterior")])
def test_explain_in_every_form(folder, form, sign):
    model = trained(folder, "weather", "play")
    assert sign in run("explain", model, "--set", "outlook=sunny", "--format", form).stdout


def test_show_prints_the_tables_and_takes_an_attribute(folder):
    model = trained(folder, "weather", "play", "--smoothing", "0")
    assert "0/5 = 0" in run("show", model).stdout
    one = run("show", model, "outlook").stdout
    assert "overcast" in one
    assert "temperature" not in one
    assert json.loads(run("show", model, "--json").stdout)["outlook"]["outlook"] == [
        "overcast",
        "rainy",
        "sunny",
    ]


def test_look_says_what_is_there_and_whether_absence_is_evidence(folder):
    text = run("look", str(folder / "credit.csv"), "-y", "Status").stdout
    assert "4454 rows, 14 columns" in text
    assert [line for line in text.splitlines() if line.startswith("Income") and line.endswith(" informative")]
    assert json.loads(run("look", str(folder / "credit.csv"), "-y", "Status", "--json").stdout)["rows"] == 4454


def test_train_with_auto_and_absence_as_evidence(folder):
    model = trained(folder, "credit", "Status", "--distribution", "auto", "--missing", "Income")
    assert "chosen by leave-one-out" in run("show", model).stdout
    steps = explained(model, "--set", "Age=30")["steps"]
    assert any(step["attribute"] == "Income missing" for step in steps)


def test_samples_are_listed():
    out = run("samples").stdout
    assert all(name in out for name in samples.names())


def test_demo_shows_a_working_and_writes_a_model(tmp_path):
    out = run("demo", cwd=tmp_path).stdout
    assert "with probability" in out
    assert "Not used: sex" in out
    assert (tmp_path / "demo.model.json").exists()


def test_bad_data_is_one_line_with_a_hint_and_exit_1(folder):
    model = trained(folder, "weather", "play")
    for args in (
        ["train", str(folder / "weather.csv"), "-y", "pla"],
        ["train", str(folder / "none.csv"), "-y", "play"],
        ["explain", model, "--set", "outlok=sunny"],
        ["explain", model, "--set", "temperature=warm"],
        ["predict", model, str(folder / "tennis.csv")],
        ["show", str(folder / "weather.csv")],
        ["show", model, "colour"],
        ["train", str(folder / "weather.csv"), "-y", "play", "--distribution", "temperature=gausian"],
        ["train", str(folder / "weather.csv"), "-y", "play", "--types", "temperature=nomnal"],
        ["samples", "tenis"],
    ):
        done = run(*args, check=1)
        assert done.stderr.count("\n") == 1, done.stderr
        assert done.stderr.startswith("Error: ")
        assert "Traceback" not in done.stderr


def test_wrong_usage_is_exit_2():
    for args in (
        ["trian"],
        ["train"],
        ["explain", "m.json"],
        ["train", "f.csv", "-y", "a", "--prior", "odd"],
    ):
        assert "Error" in run(*args, check=2).stderr


def test_a_ragged_file_names_its_line(tmp_path):
    (tmp_path / "bad.csv").write_text("a,b,y\n1,2,x\n1,2\n")
    message = run("train", str(tmp_path / "bad.csv"), "-y", "y", check=1).stderr
    assert "Line 3" in message


def test_help_imports_neither_numpy_nor_scikit_learn():
    code = (
        "import sys\nfrom countwise.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "print('HEAVY', [m for m in ('numpy', 'sklearn', 'scipy', 'rich', 'pandas') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60).stdout
    assert "HEAVY []" in out


def test_explain_of_a_saved_model_imports_neither_scikit_learn_nor_a_frame_library(folder):
    model = trained(folder, "weather", "play")
    code = (
        "import sys\nfrom countwise.cli import main\n"
        f"try:\n    main(['explain', {model!r}, '--set', 'outlook=sunny'])\nexcept SystemExit:\n    pass\n"
        "heavy = ('pandas', 'polars', 'pyarrow', 'narwhals', 'sklearn', 'scipy')\n"
        "print('HEAVY', [m for m in heavy if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60).stdout
    assert "HEAVY []" in out


def test_an_output_is_never_an_input_and_a_failed_answer_leaves_the_old_file(folder, tmp_path):
    model = trained(folder, "weather", "play")
    table = tmp_path / "weather.csv"
    table.write_bytes((folder / "weather.csv").read_bytes())
    before = table.read_bytes()
    run("predict", model, str(table), "-o", str(table), check=1)
    run("train", str(table), "-y", "play", "-o", str(table), check=1)
    old = tmp_path / "answers.csv"
    old.write_text("precious\n")
    run("predict", model, str(folder / "tennis.csv"), "-o", str(old), check=1)
    assert table.read_bytes() == before
    assert old.read_text() == "precious\n"
    run("predict", model, str(table), "-o", str(old))
    assert old.read_text().startswith("play,P(no),P(yes)\n")


def test_a_value_with_commas_is_put_in_quotes(folder):
    model = trained(folder, "mail", "label", "--distribution", "text=bernoulli")
    working = explained(model, "--set", 'text="review, us"')
    assert {"review", "us"} <= {step["word"] for step in working["steps"]}
    run("explain", model, "--set", "text=a,text=b", check=2)


@pytest.mark.parametrize(
    ("kind", "options", "words"),
    [
        (
            "discriminant",
            "covariance=own,nominal=onehot,shrinkage=auto",
            ["Gaussian, Σ of each class", "(x - μ)' Σ⁻¹ (x - μ)"],
        ),
        ("parzen", "bandwidth=scott", ["Parzen density, bandwidth scott", "effective number of rows"]),
        ("prototype", "center=median", ["distance from the median of the class", "Distance from each prototype"]),
    ],
)
def test_other_models_are_trained_shown_asked_and_explained(folder, kind, options, words):
    model = str(folder / f"{kind}.json")
    told = run(
        "train", str(folder / "penguins.csv"), "-y", "species", "--model", kind, "--option", options, "-o", model
    )
    assert words[0] in told.stdout
    assert "species" in run("show", model).stdout
    answers = list(csv.DictReader(io.StringIO(run("predict", model, str(folder / "penguins.csv")).stdout)))
    with open(folder / "penguins.csv", encoding="utf-8", newline="") as file:
        right = sum(a["species"] == row["species"] for a, row in zip(answers, csv.DictReader(file), strict=True))
    assert right > 0.9 * len(answers)
    working = run("explain", model, "--set", "bill_length_mm=45,island=Biscoe").stdout
    assert words[1] in working
    assert json.loads(run("explain", model, "--set", "bill_length_mm=45", "--format", "json").stdout)["sections"]


def test_settings_that_a_model_does_not_have_are_refused_with_a_hint(folder):
    penguins = str(folder / "penguins.csv")
    done = run("train", penguins, "-y", "species", "--model", "discriminant", "--option", "covarance=own", check=2)
    assert "did you mean 'covariance'" in done.stderr
    done = run("train", penguins, "-y", "species", "--model", "parzen", "--distribution", "auto", check=2)
    assert "only with --model naive-bayes" in done.stderr


def test_the_tables_of_a_model_are_written_for_a_spreadsheet(folder):
    model = str(folder / "spreadsheet.json")
    run("train", str(folder / "penguins.csv"), "-y", "species", "-o", model)
    assert "Written to" in run("show", model, "-o", str(folder / "counts.xlsx")).stdout
    assert (folder / "counts.xlsx").read_bytes().startswith(b"PK")
    run("show", model, "island", "-o", str(folder / "island.csv"))
    with open(folder / "island.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    with open(folder / "penguins.csv", encoding="utf-8", newline="") as file:
        islands = [(row["island"], row["species"]) for row in csv.DictReader(file)]
    assert [int(row["count Adelie"]) for row in rows] == [islands.count((row["island"], "Adelie")) for row in rows]
    assert "tables" in run("show", model, "--json", "-o", str(folder / "counts.csv"), check=2).stderr
    assert ".xlsx" in run("show", model, "-o", str(folder / "counts.json"), check=1).stderr
    assert "input file" in run("show", model, "-o", model, check=1).stderr


@pytest.mark.parametrize("kind", ["naive-bayes", "network", "tree", "rules"])
def test_the_rows_behind_each_count_are_shown_on_request(folder, kind):
    table, model = str(folder / "penguins.csv"), str(folder / f"rows-{kind}.json")
    run("train", table, "-y", "species", "--model", kind, "-o", model)
    found = run("explain", model, table, "--row", "3", "--rows", table, "--format", "json").stdout
    shown = json.loads(found)["sections"][-1]["table"]
    assert [len(rows) for rows in shown["row numbers"]] == shown["rows"]
    assert sum(shown["rows"])
    assert "does not exist" in run("explain", model, table, "--rows", "nowhere.csv", check=1).stderr


def test_neighbors_show_their_rows_anyway(folder):
    table, model = str(folder / "penguins.csv"), str(folder / "rows-neighbors.json")
    run("train", table, "-y", "species", "--model", "neighbors", "-o", model)
    assert "--rows is not needed" in run("explain", model, table, "--rows", table, check=2).stderr


def test_show_prints_the_splits_of_a_tree_with_every_gain_written_out(folder):
    model = trained(folder, "weather", "play", "--model", "tree")
    shown = run("show", model, "--splits", "--depth", "1").stdout
    assert "gain(windy) = 0.940286 - (8/14)·0.811278 - (6/14)·1 = 0.048127" in shown
    found = json.loads(run("show", model, "--splits", "--json").stdout)
    assert found["sections"][0]["table"]["attribute"] == ["outlook", "temperature", "humidity", "windy"]
    assert "only one of" in run("show", model, "--splits", "--rules", check=2).stderr
    bayes = trained(folder, "weather", "play")
    assert "only with trees" in run("show", bayes, "--splits", check=2).stderr


def test_show_prints_the_decisions_of_the_pruning_of_a_tree(folder):
    options = ("--model", "tree", "--option", "pruning=pessimistic")
    model = trained(folder, "tennis", "play", *options)
    shown = run("show", model, "--pruning").stdout
    assert "U(0, 3) = 1 - 0.25^(1/3) = 0.370039" in shown
    assert "3.20282 > 2.11012: kept" in shown
    assert json.loads(run("show", model, "--pruning", "--json").stdout)["value"] == 0
    unpruned = trained(folder, "tennis", "play", "--model", "tree")
    assert "not pruned" in run("show", unpruned, "--pruning", check=1).stderr


@pytest.mark.parametrize("kind", ["tree", "neighbors", "discriminant", "parzen"])
def test_changes_and_intervals_are_shown_on_request(folder, kind):
    table, model = str(folder / "numbers.csv"), str(folder / f"changes-{kind}.json")
    with open(folder / "penguins.csv", encoding="utf-8", newline="") as file:
        rows = [[r["bill_length_mm"], r["bill_depth_mm"], r["species"]] for r in csv.DictReader(file)]
    rows = [row for row in rows if row[0]]
    (folder / "numbers.csv").write_text("\n".join(map(",".join, [["length", "depth", "species"], *rows])) + "\n")
    run("train", table, "-y", "species", "--model", kind, "-o", model)
    shown = run("explain", model, table, "--changes", "--interval", "0.8").stdout
    assert "What would change the prediction\n" in shown
    assert "80 % credible interval" in shown
    assert "credible" not in run("explain", model, table).stdout


def test_a_regressor_has_no_changes(folder):
    table, model = str(folder / "penguins.csv"), str(folder / "regressor.json")
    run("train", table, "-y", "body_mass_g", "--model", "regression-tree", "-o", model)
    assert "only with classifiers" in run("explain", model, table, "--changes", check=2).stderr
