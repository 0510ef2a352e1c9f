"""`countwise bin` and `countwise rank` as a person meets them."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from countwise import Discretizer, load, samples
from countwise.feature_selection import attribute_scores

from .running import ENVIRONMENT, run

COUNTED = ("equal_width", "equal_frequency", "kmeans", "lloyd")
METHODS = ["naive", "equal_width", "equal_frequency", "kmeans", "lloyd", "class_contiguous", "min_n", "mdl"]
BY = ["information_gain", "gain_ratio", "symmetrical_uncertainty", "chi_square", "gini_gain", "adjusted_gain"]
WEATHER = """@relation weather
@attribute outlook {sunny, overcast, rainy}
@attribute temperature numeric
@attribute humidity numeric
@attribute windy {TRUE, FALSE}
@attribute play {yes, no}
@data
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("bin")
    for name in ("tennis", "weather", "penguins", "mail"):
        run("samples", name, "-o", str(place / f"{name}.csv"))
    frame = samples.load("weather").frame
    rows = zip(*(frame[c] for c in ("outlook", "temperature", "humidity", "windy", "play")), strict=True)
    lines = [",".join(str(cell).upper() if i == 3 else f"{cell:g}" if i in (1, 2) else cell
                      for i, cell in enumerate(row)) for row in rows]  # fmt: skip
    (place / "weather.arff").write_text(WEATHER + "\n".join(lines) + "\n")
    return place


def told(folder: Path, *args: str) -> dict:
    done = run(*args, "--json", cwd=folder)
    assert done.stderr == ""
    return json.loads(done.stdout)


# -- bin -----------------------------------------------------------------------------------------------------


def test_bin_prints_cuts_with_reasons(folder):
    out = run("bin", "weather.arff", "-y", "play", "--method", "min_n", "--n", "3", cwd=folder)
    assert out.stderr == ""
    assert out.stdout.splitlines()[:7] == [
        "temperature: 3 bins by min_n, n = 3",
        "bin           no  yes  reason for the upper edge",
        "<= 70.5        1    4  4 rows of yes up to 70; 71 is of another class",
        "(70.5, 77.5]   2    3  3 rows of yes up to 75; 80 is of another class",
        "> 77.5         2    2",
        "Mutual information with play, 12 distinct values: 0.797429 bits (0.798999 expected by chance)",
        "Mutual information with play, 3 bins: 0.0499721 bits (94 % lost)",
    ]
    assert "humidity: 3 bins" in out.stdout
    assert "outlook" not in out.stdout


def test_bin_says_why_mdl_makes_no_cut(folder):
    out = run("bin", "weather.arff", "-y", "play", cwd=folder)
    assert "the best, 84, has an information gain of 0.113401 bits, and 0.457729 are required" in out.stdout
    assert "the best, 82.5, has an information gain of 0.151836 bits, and 0.555787 are required" in out.stdout
    assert out.stderr == ""


def test_bin_as_plain_data_is_what_the_library_says(folder):
    found = told(folder, "bin", "penguins.csv", "-y", "species", "--drop", "year")
    assert (found["rows"], found["target"]) == (344, "species")
    penguins = samples.load("penguins")
    frame = {name: column for name, column in penguins.X.items() if name != "year"}
    cutter = Discretizer("mdl").fit(frame, penguins.y)
    assert [column["attribute"] for column in found["columns"]] == list(cutter.edges_)
    for column in found["columns"]:
        wanted = cutter.report(column["attribute"]).to_dict()
        assert column["cuts"] == wanted["cuts"]
        assert column["counts"] == wanted["counts"]
        assert column["notes"] == wanted["notes"]
        assert column["information_bits"] == pytest.approx(wanted["information_bits"], rel=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_bin_knows_every_rule(folder, method):
    more = ("--bins", "4") if method in COUNTED else ("--n", "20") if method == "min_n" else ()
    args = ("bin", "penguins.csv", "-y", "species", "--method", method, *more)
    (column, *_) = told(folder, *args)["columns"]
    assert column["rule"].startswith(method)
    assert len(column["ranges"]) == len(column["cuts"]) + 1
    assert sum(sum(row) for row in column["counts"].values()) == 342


def test_bin_takes_a_rule_or_edges_for_a_column(folder):
    args = ("bin", "penguins.csv", "-y", "species", "--method", "bill_length_mm=40:45.5", "--method", "year=naive")
    found = told(folder, *args)["columns"]
    assert [column["attribute"] for column in found] == ["bill_length_mm", "year"]
    assert [cut["at"] for cut in found[0]["cuts"]] == [40.0, 45.5]
    assert found[0]["rule"] == "hand"
    assert [cut["at"] for cut in found[1]["cuts"]] == [2007.5, 2008.5]


def test_bin_needs_no_class_for_rules_that_look_at_none(folder):
    found = told(folder, "bin", "weather.csv", "--method", "equal_width", "--bins", "leave_one_out")
    assert found["target"] is None
    assert found["columns"][0]["information_bits"] is None
    assert "leave-one-out log-likelihood" in found["columns"][0]["notes"][0]


def test_bin_weighs_rows(folder):
    plain = told(folder, "bin", "penguins.csv", "--method", "equal_frequency", "--bins", "3", "--drop", "species")
    weighed = told(folder, "bin", "penguins.csv", "--method", "equal_frequency", "--bins", "3", "--weights", "year")
    names = [column["attribute"] for column in weighed["columns"]]
    assert "year" not in names
    assert sum(weighed["columns"][0]["counts"]["rows"]) > 1000 * sum(plain["columns"][0]["counts"]["rows"])


def test_bin_writes_the_table_with_its_ranges(folder, tmp_path):
    place = tmp_path / "ranges.csv"
    run("bin", "penguins.csv", "-y", "species", "--method", "body_mass_g=4000:5000", "-o", str(place), cwd=folder)
    rows = list(csv.DictReader(io.StringIO(place.read_text(encoding="utf-8"))))
    before = samples.load("penguins").frame
    assert list(rows[0]) == list(before)
    assert len(rows) == 344
    for row, mass in zip(rows, before["body_mass_g"].tolist(), strict=True):
        wanted = "" if np.isnan(mass) else "<= 4000" if mass <= 4000 else "(4000, 5000]" if mass <= 5000 else "> 5000"
        assert row["body_mass_g"] == wanted
    assert [row["island"] for row in rows] == before["island"].tolist()


def test_bin_writes_to_the_screen_alone(folder):
    out = run("bin", "weather.csv", "--method", "temperature=70:80", "-o", "-", cwd=folder).stdout
    rows = list(csv.reader(io.StringIO(out)))
    assert rows[0] == ["outlook", "temperature", "humidity", "windy", "play"]
    assert rows[1][1] == "> 80"
    assert len(rows) == 15


def test_bin_never_writes_over_its_own_table(folder, tmp_path):
    place = tmp_path / "weather.csv"
    place.write_bytes((folder / "weather.csv").read_bytes())
    assert run("bin", str(place), "--method", "naive", "-o", str(place), check=1).stderr.startswith("Error: ")
    assert place.read_bytes() == (folder / "weather.csv").read_bytes()


def test_bin_of_a_table_without_numbers_says_so(folder):
    assert "tennis.csv has no numeric column." in run("bin", "tennis.csv", "-y", "play", cwd=folder).stdout


# -- rank ----------------------------------------------------------------------------------------------------


def test_rank_prints_the_scores_from_the_best_on(folder):
    out = run("rank", "tennis.csv", "-y", "play", cwd=folder)
    assert out.stderr == ""
    lines = out.stdout.splitlines()
    assert lines[0] == "Attributes ranked by information gain for target play, 14 rows (gain in bits)"
    assert [line.split()[0] for line in lines[3:7]] == ["outlook", "humidity", "wind", "temperature"]
    assert [line.split()[4] for line in lines[3:7]] == ["0.2467", "0.1518", "0.04813", "0.02922"]


def test_rank_as_plain_data_is_what_the_library_says(folder):
    found = told(folder, "rank", "penguins.csv", "-y", "species", "--adjust", "permutation")
    penguins = samples.load("penguins")
    wanted = attribute_scores(penguins.X, penguins.y, adjust="permutation")
    assert found["rows"] == 344
    assert {row["attribute"] for row in found["attributes"]} == set(wanted["attribute"])
    gains = [row["information_gain"] for row in found["attributes"]]
    assert gains == sorted(gains, reverse=True)
    for row in found["attributes"]:
        place = wanted["attribute"].index(row["attribute"])
        for measure in ("information_gain", "gain_ratio", "chi_square", "gini_gain", "adjusted_gain", "missing"):
            assert row[measure] == pytest.approx(wanted[measure][place], rel=1e-12), measure
        assert row["note"] == wanted["note"][place]


def test_rank_of_an_arff_file_reads_its_domains_and_notes_uncut_columns(folder):
    out = run("rank", "weather.arff", "-y", "play", cwd=folder).stdout
    assert "temperature  1 bin (mdl)" in out
    assert "Note: temperature: no cut point is accepted by the MDL criterion" in out
    found = told(folder, "rank", "weather.arff", "-y", "play", "--numeric", "equal_width")
    assert {row["read_as"] for row in found["attributes"]} == {"nominal", "10 bins (equal_width)"}


@pytest.mark.parametrize("by", BY)
def test_rank_by_every_score(folder, by):
    found = told(folder, "rank", "penguins.csv", "-y", "species", "--by", by)["attributes"]
    values = [-np.inf if row[by] is None else row[by] for row in found]
    assert values == sorted(values, reverse=True)


def test_rank_shows_only_the_first(folder):
    found = told(folder, "rank", "tennis.csv", "-y", "play", "--top", "2")["attributes"]
    assert [row["attribute"] for row in found] == ["outlook", "humidity"]


def test_rank_by_values_and_by_words(folder):
    binary = told(folder, "rank", "tennis.csv", "-y", "play", "--nominal", "binary")["attributes"]
    assert binary[0]["attribute"] == "outlook=Overcast"
    words = told(folder, "rank", "mail.csv", "-y", "label", "--types", "text=text")["attributes"]
    assert words[0]["attribute"] == "text: review"


def test_rank_prints_pmi(folder):
    out = run("rank", "tennis.csv", "-y", "play", "--pmi", "outlook", cwd=folder).stdout
    assert out.splitlines()[1].split() == ["outlook", "Overcast", "No", "0", "-inf"]
    rows = told(folder, "rank", "tennis.csv", "-y", "play", "--pmi", "outlook")["attributes"]
    assert len(rows) == 6
    assert rows[1]["pmi"] == pytest.approx(0.6374299206152917, rel=1e-12)


def test_rank_prints_a_contingency_table_and_its_computation(folder):
    out = run("rank", "tennis.csv", "-y", "play", "--table", "outlook", cwd=folder).stdout
    assert "gain(outlook) = 0.940286 - (4/14)·0 - (5/14)·0.970951 - (5/14)·0.970951 = 0.24675" in out
    found = told(folder, "rank", "tennis.csv", "-y", "play", "--table", "outlook")
    assert found["counts"] == [[0, 4], [2, 3], [3, 2]]
    assert found["chi_square"] == pytest.approx(266 / 75, rel=1e-12)


@pytest.mark.parametrize(
    ("options", "words"), [(("--pmi", "wind"), "cannot be combined"), (("--number",), "remove --number")]
)
def test_rank_refuses_a_table_together_with_another_view(folder, options, words):
    assert words in run("rank", "tennis.csv", "-y", "play", "--table", "wind", *options, cwd=folder, check=2).stderr


@pytest.mark.parametrize("by", ["mrmr", "mrmr_quotient", "cfs", "fcbf"])
def test_rank_selects_attributes_that_do_not_repeat_each_other(folder, by):
    found = told(folder, "rank", "penguins.csv", "-y", "species", "--by", by, "--top", "2")
    pair = ["bill_length_mm", "island"] if by == "cfs" else ["flipper_length_mm", "bill_length_mm"]
    assert found["selected"] == pair
    assert len(found["attributes"]) == 7
    assert found["steps"][0]["relevance"] > found["steps"][1]["relevance"]
    out = run("rank", "penguins.csv", "-y", "species", "--by", by, cwd=folder).stdout
    assert out.startswith(f"{by} selects 'flipper_length_mm', 'bill_length_mm'")


def test_rank_by_mrmr_ranks_all_attributes_and_uses_weights(folder):
    (folder / "twice.csv").write_text("a,b,w,y\nu,v,1,n\nu,u,2,n\nv,u,1,y\nv,v,3,y\n")
    found = told(folder, "rank", "twice.csv", "-y", "y", "--by", "mrmr", "--weights", "w")
    assert found["selected"] == ["a", "b"]
    assert "--table a does not apply" in run(
        "rank", "twice.csv", "-y", "y", "--by", "fcbf", "--table", "a", cwd=folder, check=2
    ).stderr  # fmt: skip


def test_rank_prints_the_gain_of_every_threshold(folder):
    found = told(folder, "rank", "weather.csv", "-y", "play", "--thresholds", "temperature", "--numeric", "gaussian")
    assert [row["threshold"] for row in found["thresholds"]][-2:] == [82.0, 84.0]
    best = run("rank", "weather.csv", "-y", "play", "--thresholds", "humidity", "--top", "1", cwd=folder).stdout
    assert best.splitlines()[1].split() == ["82.5", "1", "6", "4", "3", "0.151836", "0.151836"]


def test_minus_infinity_is_told_from_what_is_not_known(folder):
    rows = told(folder, "rank", "tennis.csv", "-y", "play", "--pmi", "outlook")["attributes"]
    (never,) = (row for row in rows if row["value"] == "Overcast" and row["class"] == "No")
    assert never["n"] == 0
    assert never["pmi"] is not None


# -- bad usage -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("bin", "none.csv", "-y", "play"), ("none.csv",)),
        (("bin", "weather.csv", "-y", "ply"), ("'ply'", "did you mean 'play'?")),
        (("bin", "weather.csv", "-y", "play", "--method", "mdll"), ("did you mean 'mdl'?",)),
        (("bin", "weather.csv", "-y", "play", "--method", "temprature=mdl"), ("did you mean 'temperature'?",)),
        (("bin", "weather.csv", "-y", "play", "--method", "outlook=mdl"), ("'outlook'",)),
        (("bin", "weather.csv", "--method", "temperature=70:70"), ("must be distinct",)),
        (("bin", "weather.csv", "-y", "play", "--method", "min_n", "--n", "0"), ("must be a number > 0",)),
        (("bin", "weather.csv", "-y", "play", "--drop", "zzz"), ("'zzz'",)),
        (("bin", "weather.csv", "-y", "play", "--weights", "zzz"), ("'zzz'",)),
        (("bin", "penguins.csv", "-y", "bill_length_mm"), ("classes",)),
        (("rank", "none.csv", "-y", "play"), ("none.csv",)),
        (("rank", "tennis.csv", "-y", "ply"), ("did you mean 'play'?",)),
        (("rank", "tennis.csv", "-y", "play", "--pmi", "outlok"), ("did you mean 'outlook'?",)),
        (("rank", "weather.csv", "-y", "play", "--thresholds", "humdity"), ("did you mean 'humidity'?",)),
        (("rank", "weather.csv", "-y", "play", "--thresholds", "outlook"), ("only a numeric attribute",)),
        (("rank", "tennis.csv", "-y", "play", "--table", "outlok"), ("did you mean 'outlook'?",)),
        (("rank", "penguins.csv", "-y", "species", "--numeric", "mld"), ("did you mean 'mdl'?",)),
        (("rank", "penguins.csv", "-y", "bill_length_mm"), ("classes",)),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, tuple) else str(part),
)
def test_bad_data_is_one_line_with_what_would_be_right(folder, args, words):
    done = run(*args, cwd=folder, check=1)
    assert done.stderr.startswith("Error: ")
    assert done.stderr.count("\n") == 1, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    for word in words:
        assert word in done.stderr


def test_a_score_that_does_not_suit_the_target_is_refused(folder):
    done = run("rank", "tennis.csv", "-y", "play", "--by", "sd_reduction", cwd=folder, check=2)
    assert "Error: --by sd_reduction needs --number." in done.stderr
    done = run("rank", "weather.csv", "-y", "humidity", "--number", "--by", "gain_ratio", cwd=folder, check=2)
    assert "Error: --by gain_ratio needs a class as target: remove --number." in done.stderr


def test_a_rule_that_needs_a_class_names_the_option_that_gives_it(folder):
    done = run("bin", "weather.csv", cwd=folder, check=2)
    assert "Error: A supervised method needs the target: add -y COLUMN" in done.stderr


@pytest.mark.parametrize(
    "args",
    [
        ("bin",),
        ("rank", "tennis.csv"),
        ("rank", "tennis.csv", "-y", "play", "--by", "odd"),
        ("rank", "tennis.csv", "-y", "play", "--adjust", "odd"),
        ("rank", "tennis.csv", "-y", "play", "--top", "0"),
        ("bin", "weather.csv", "--merge", "odd"),
        ("bin", "weather.csv", "--n", "many"),
        ("bin", "weather.csv", "--n", "3"),
        ("bin", "weather.csv", "--merge", "last"),
        ("bin", "weather.csv", "--bins", "3"),
        ("bin", "weather.csv", "--method", "kmeans", "--bins", "0"),
        ("bin", "weather.csv", "--method", "kmeans", "--bins", "few"),
        ("bin", "weather.csv", "--method", "naive", "-o", "-", "--json"),
        ("bin", "weather.csv", "--method", "naive", "-o", "out.parquet"),
        ("bin", "weather.csv", "--method", "naive", "-o", "nowhere/out.csv"),
        ("bin", "weather.csv", "--method", "mdl", "--method", "naive"),
        ("bin", "weather.csv", "--method", "mdl", "--method", "temperature=naive"),
    ],
    ids=" ".join,
)
def test_wrong_usage_is_exit_2(folder, args):
    assert "Error" in run(*args, cwd=folder, check=2).stderr


def test_the_help_of_both_shows_how_they_are_used():
    assert "--method" in run("bin", "--help").stdout
    assert "--by" in run("rank", "--help").stdout


@pytest.mark.parametrize("command", ["bin", "rank"])
def test_neither_waits_for_scikit_learn(folder, command):
    args = (command, "weather.csv", "-y", "play")
    code = (
        "import sys\nfrom countwise.cli import main\n"
        f"try:\n    main({list(args)!r})\nexcept SystemExit:\n    pass\n"
        "print('HEAVY', [m for m in ('pandas', 'polars', 'sklearn') if m in sys.modules])"
    )
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, cwd=folder, env=ENVIRONMENT
    ).stdout
    assert "HEAVY []" in out


@pytest.mark.parametrize(
    ("options", "labels"),
    [
        (["--method", "class_contiguous", "--min-size", "2"], ["<= 19.6", "(19.6, 21.9]", "> 21.9"]),
        (
            ["--method", "lloyd", "--bins", "3", "--labels", "low,medium,high", "--n-init", "50", "--seed", "1"],
            ["low", "medium", "high"],
        ),
        (["--method", "temp=19:22", "--labels", "temp=low,medium,high"], ["low", "medium", "high"]),
        (["--method", "naive"], ["18.4", "19.5", "19.7", "20.3", "23.5", "32.1"]),
    ],
)
def test_bins_of_a_size_from_random_centers_and_with_names(folder, options, labels):
    run("samples", "rain", "-o", "rain.csv", cwd=folder)
    found = json.loads(run("bin", "rain.csv", "-y", "rain", "--json", *options, cwd=folder).stdout)
    assert found["columns"][0]["labels"] == labels


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--min-size", "2"], "--min-size needs --method class_contiguous"),
        (["--seed", "2"], "--n-init and --seed need --method lloyd"),
        (["--method", "kmeans", "--bins", "3", "--labels", "low,high"], "labels has 2 names"),
    ],
)
def test_options_of_another_rule_are_refused(folder, options, words):
    assert words in run("bin", "weather.csv", "-y", "play", *options, cwd=folder, check=None).stderr


def test_the_computation_of_the_cut_points(folder):
    text = run("bin", "weather.csv", "-y", "play", "--method", "temperature=mdl", "--explain", cwd=folder).stdout
    assert "class runs: yes | no | yes yes yes" in text
    assert "84 is not accepted." in text
    options = ("--method", "temperature=mdl", "--explain", "--json")
    found = json.loads(run("bin", "weather.csv", "-y", "play", *options, cwd=folder).stdout)
    assert found["columns"][0]["sections"][0]["title"] == "values in ascending order"


def test_training_takes_cut_points_and_every_rule(folder):
    def trained(*options):
        run("train", "weather.csv", "-y", "play", *options, "-o", "m.json", cwd=folder)
        return load(folder / "m.json")

    bayes = trained("--distribution", "temperature=70:80", "--distribution", "humidity=naive")
    assert bayes.table("temperature")["temperature"] == ["<= 70", "(70, 80]", "> 80"]
    assert bayes.table("humidity")["humidity"][0] == "65"
    tree = trained("--model", "tree", "--option", "numeric=ranges,ranges=70:80")
    assert "(70, 80]: no (0)" in tree.draw()
    assert "64: yes (1)" in trained("--model", "tree", "--option", "numeric=ranges,ranges=naive").draw()
