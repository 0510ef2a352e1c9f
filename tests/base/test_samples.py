"""The samples that ship with the package, and the worked examples that use them."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
import tomllib
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import countwise.samples
from countwise.errors import ReadError
from countwise.samples import load, names

FOLDER = Path(countwise.samples.__file__).parent
GOLDEN = sorted((Path(__file__).parents[1] / "golden").glob("*.toml"))
SHAPES = {
    "rain": (6, ["wind", "temp", "rain"]),
    "tennis": (14, ["outlook", "temperature", "humidity", "wind", "play"]),
    "weather": (14, ["outlook", "temperature", "humidity", "windy", "play"]),
    "mail": (6, ["text", "label"]),
    "loan": (10, ["home_owner", "marital", "job_years", "default"]),
    "cheat": (10, ["refund", "marital", "income_k", "cheat"]),
    "hours": (14, ["outlook", "temp", "humidity", "windy", "hours"]),
    "penguins": (344, ["species", "island", "bill_length_mm", "bill_depth_mm", "flipper_length_mm",
                       "body_mass_g", "sex", "year"]),
    "credit": (4454, ["Status", "Seniority", "Home", "Time", "Age", "Marital", "Records", "Job", "Expenses",
                      "Income", "Assets", "Debt", "Amount", "Price"]),
    "sms": (5574, ["label", "message"]),
}  # fmt: skip


def test_the_names_are_those_of_the_table_above():
    assert names() == list(SHAPES)


@pytest.mark.parametrize("name", SHAPES)
def test_a_sample_has_its_rows_columns_and_a_target(name):
    sample = load(name)
    rows, columns = SHAPES[name]
    assert list(sample.frame) == columns
    assert {len(column) for column in sample.frame.values()} == {rows}
    assert sample.target in columns
    assert list(sample.X) == [column for column in columns if column != sample.target]
    assert sample.y is sample.frame[sample.target]
    assert sample.name == name
    assert all((sample.description, sample.source, sample.license))


@pytest.mark.parametrize("name", SHAPES)
def test_a_column_is_numeric_or_holds_text_truth_and_none(name):
    for column in load(name).frame.values():
        if column.dtype == object:
            assert {type(value) for value in column} <= {str, bool, type(None)}
        else:
            assert column.dtype in (np.float64, np.int64)


def test_gaps_are_as_many_as_the_sources_say():
    def gaps(name):
        return sum(
            sum(value is None for value in c) if c.dtype == object else int(np.isnan(c).sum())
            for c in load(name).frame.values()
        )

    assert {name: gaps(name) for name in SHAPES if gaps(name)} == {"penguins": 19, "credit": 455}


def test_classes_are_counted_as_published():
    counts = {name: Counter(load(name).y.tolist()) for name in SHAPES if name != "hours"}
    assert counts["rain"] == {"no": 3, "yes": 3}
    assert counts["tennis"] == {"Yes": 9, "No": 5}
    assert counts["weather"] == {"yes": 9, "no": 5}
    assert counts["mail"] == {"spam": 4, "valid": 2}
    assert counts["loan"] == {"No": 7, "Yes": 3}
    assert counts["cheat"] == {"No": 7, "Yes": 3}
    assert counts["penguins"] == {"Adelie": 152, "Gentoo": 124, "Chinstrap": 68}
    assert counts["credit"] == {"good": 3200, "bad": 1254}
    assert counts["sms"] == {"ham": 4827, "spam": 747}


def test_numbers_of_the_lecture_tables_are_right():
    assert load("rain").frame["temp"].sum() == pytest.approx(133.5, abs=1e-12)
    assert Fraction(int(load("hours").frame["hours"].sum()), 14) == Fraction(584, 14)
    assert load("cheat").frame["income_k"].sum() == 1040
    assert load("loan").frame["job_years"].sum() == 32
    weather = load("weather").frame
    assert (weather["temperature"].sum(), weather["humidity"].sum()) == (1030.0, 1143.0)
    assert weather["windy"].tolist().count(True) == 6
    assert load("hours").frame["windy"].tolist().count(True) == 6


def test_tennis_and_weather_are_the_same_days():
    tennis, weather = load("tennis").frame, load("weather").frame
    assert [word.lower() for word in tennis["play"]] == weather["play"].tolist()
    assert [word == "Strong" for word in tennis["wind"]] == weather["windy"].tolist()
    assert [word.lower().replace("rain", "rainy") for word in tennis["outlook"]] == weather["outlook"].tolist()


def test_messages_keep_their_quotation_marks_and_line():
    messages = load("sms").frame["message"]
    assert messages[4].endswith("he lives around here though")
    assert sum(message.startswith('"') for message in messages) > 20


def test_a_sample_is_frozen_and_read_anew_each_time():
    sample = load("rain")
    with pytest.raises(dataclasses.FrozenInstanceError):
        sample.target = "wind"
    sample.frame["temp"][0] = 0.0
    assert load("rain").frame["temp"][0] == 32.1


def test_an_unknown_sample_is_answered_with_the_nearest_name():
    with pytest.raises(ReadError, match="did you mean 'penguins'"):
        load("penguin")
    with pytest.raises(ReadError, match=r"use one of 'rain', .*'sms'"):
        load("zzz")


def test_every_file_is_listed_with_its_license():
    text = (FOLDER / "LICENSES.md").read_text(encoding="utf-8")
    shipped = [path.name for path in FOLDER.iterdir() if path.suffix in (".csv", ".tsv", ".arff")]
    assert [name for name in shipped if f"`{name}`" not in text] == []
    for needed in ("CC BY 4.0", "CC0 1.0", "Almeida", "Copyright (c) 2023 modeldata authors"):
        assert needed in text


def test_loading_imports_no_table_library():
    code = (
        "import sys; from countwise.samples import load, names; [load(n) for n in names()];"
        "print(sorted({'pandas', 'polars', 'pyarrow', 'duckdb'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# ------------------------------------------------------------------ the worked examples


KINDS_OF_CUTS = {"cuts", "gains", "means", "pmi", "scores", "search", "splits"}
KINDS_OF_ROWS = {"discriminant", "logistic", "lonely", "parzen", "prototype", "widths"}


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_a_worked_example_uses_what_its_table_has(path):
    case = tomllib.loads(path.read_text(encoding="utf-8"))
    assert path.stem.startswith(f"g{int(case['id'][1:]):02d}_")
    if case.get("kind") in KINDS_OF_ROWS:
        frame = load(case["sample"]).frame if "sample" in case else case["table"]
        assert set(case["columns"]) <= set(frame) - {case.get("target")}
        assert set(case.get("row", {})) <= set(case["columns"])
        return
    if case.get("kind") == "network":
        frame = load(case["sample"]).frame
        used = [name for query in case.get("query", ()) for name in (query["queried"], *query["given"])]
        assert {*used, *case.get("columns", ()), *case["network"].get("order", ())} <= set(frame)
        return
    if case.get("kind") == "tree":
        frame = load(case["sample"]).frame
        used = [node["where"] | node.get("gain", {}) for node in case.get("node", ())]
        assert all(set(names) <= set(frame) - {case["target"]} for names in used)
        return
    if case.get("kind") == "exemplars":
        frame = load(case["sample"]).frame
        used = [name for part in case["exemplars"] for name in part.get("columns", ())]
        assert set(used) <= set(frame) - {case["target"]}
        return
    if case.get("kind") == "distances":
        frame = load(case["sample"]).frame if "sample" in case else {}
        used = [name for metric in case.get("metric", ()) for name in metric.get("columns", ())]
        used += [asked["column"] for asked in (*case.get("difference", ()), *case.get("scaled", ()))]
        assert set(used) <= set(frame) - {case.get("target")}
        return
    if "model" not in case:
        assert case.get("kind", "call") in {"call", "given", *KINDS_OF_CUTS}
        assert "call" in case
        return
    frame = load(case["sample"]).frame if "sample" in case else case["table"]
    columns = set(case["model"]["columns"])
    assert columns == set(case["model"]["distributions"])
    assert columns <= set(frame) - {case["target"]}
    for query in case.get("query", []):
        assert set(query["row"]) <= columns
        assert set(query["joint"]) == {*list(frame[case["target"]])}


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_a_worked_example_adds_up(path):
    case = tomllib.loads(path.read_text(encoding="utf-8"))
    for query in case.get("query", []) if case.get("kind") != "network" else ():
        joint = {name: Fraction(value) for name, value in query["joint"].items()}
        total = sum(joint.values())
        for name, value in query["posterior"].items():
            assert float(Fraction(value)) == pytest.approx(float(joint[name] / total), rel=1e-15, abs=0)


def test_the_worked_examples_are_all_there():
    found: dict[str, list[str]] = {}
    for path in GOLDEN:
        found.setdefault(tomllib.loads(path.read_text(encoding="utf-8"))["id"], []).append(path.stem)
    assert {f"G{number}" for number in range(1, 63)} <= set(found)
    for number, stems in found.items():
        assert len({stem.split("_")[1] for stem in stems}) == 1, f"{number} is used for two examples: {stems}"
