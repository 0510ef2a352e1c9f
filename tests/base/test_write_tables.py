"""Tables of models as CSV and Excel files: all numbers are numbers, and any name is allowed."""

from __future__ import annotations

import csv
import warnings
import xml.etree.ElementTree as ET
import zipfile

import numpy as np
import pandas as pd
import pytest

import countwise as cw
from countwise import samples
from countwise.errors import OptionError, TableError
from countwise.io.spreadsheets import write_tables
from countwise.registry import KINDS, class_of
from countwise.working import Grid

MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
RAIN = samples.load("rain")


def sheets_of(path):
    """Return the cells of each sheet by the standard library: texts, and numbers as floats."""
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        names = [s.get("name") for s in ET.fromstring(archive.read("xl/workbook.xml")).iter(f"{MAIN}sheet")]
        found = {}
        for i, name in enumerate(names, start=1):
            sheet = ET.fromstring(archive.read(f"xl/worksheets/sheet{i}.xml"))
            assert sheet.find(f".//{MAIN}pane").get("state") == "frozen"
            cells = {}
            for c in sheet.iter(f"{MAIN}c"):
                text = c.find(f"{MAIN}is/{MAIN}t")
                cells[c.get("r")] = float(c.find(f"{MAIN}v").text) if text is None else text.text
            found[name] = cells
        return found


def fitted(name):
    model = class_of(KINDS[name])()
    if name == "ParzenDensity":
        return model.fit({"temp": RAIN.X["temp"]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if name == "Network":
            return model.fit(RAIN.frame)
        if name in ("RegressionTree", "NeighborsRegression"):
            return model.fit({"wind": RAIN.X["wind"]}, RAIN.X["temp"])
        if name in ("Discriminant", "Rote"):
            return model.fit({"temp": RAIN.X["temp"]}, RAIN.y)
        return model.fit(RAIN.X, RAIN.y)


@pytest.mark.parametrize("name", KINDS)
def test_every_model_writes_each_number_of_its_tables_to_excel_and_csv(name, tmp_path):
    model = fitted(name)
    model.write_tables(tmp_path / "t.xlsx")
    model.write_tables(str(tmp_path / "t.csv"))
    sheets = sheets_of(tmp_path / "t.xlsx")
    lines = pd.read_csv(tmp_path / "t.csv")
    values = {v for v in map(_number, lines["value"].tolist() + lines["row"].tolist()) if v is not None}
    for (key, table), cells in zip(model.tables().items(), sheets.values(), strict=True):
        own = {v for v in cells.values() if isinstance(v, float)}
        for column in table.values():
            for cell in column:
                if isinstance(cell, float | int) and np.isfinite(cell):
                    assert cell in own, (key, cell)
                    assert float(cell) in values or str(cell) in " ".join(map(str, lines["row"])), (key, cell)


def _number(text):
    try:
        return float(text)
    except ValueError:
        return None


def test_the_counts_of_a_frequency_are_beside_it(tmp_path):
    cw.NaiveBayesClassifier().fit(RAIN.X, RAIN.y).write_tables(tmp_path / "t.xlsx")
    sheet = sheets_of(tmp_path / "t.xlsx")["wind"]
    assert [sheet[f"{c}1"] for c in "ABCDE"] == ["wind", "count no", "count yes", "no", "yes"]
    assert [sheet[f"{c}2"] for c in "ABC"] == ["east", 1, 2]
    assert sheet["D2"] == pytest.approx(0.4, abs=1e-15)
    frame = cw.NaiveBayesClassifier().fit(RAIN.X, RAIN.y).tables()["wind"].to_frame()
    assert frame["no"].dtype == np.float64


def test_a_network_has_the_counts_of_its_parents_in_the_order_of_the_table(tmp_path):
    tennis = samples.load("tennis")
    model = cw.BayesNetworkClassifier("tan").fit(tennis.X, tennis.y)
    model.write_tables(tmp_path / "t.csv", "temperature")
    found = pd.read_csv(tmp_path / "t.csv")
    rows = pd.DataFrame({**tennis.X, "class": tennis.y})
    for _, line in found.iterrows():
        same = rows[(rows["class"] == line["class"]) & (rows["outlook"] == line["outlook"])]
        for value in ("Cool", "Hot", "Mild"):
            n = int((same["temperature"] == value).sum())
            assert line[f"count temperature = {value}"] == n
            assert line[f"temperature = {value}"] == pytest.approx((n + 1) / (len(same) + 3))


def test_a_table_given_by_hand_has_no_counts(tmp_path):
    net = cw.BayesNetwork().add_node("rain", ["no", "yes"], [0.8, 0.2])
    net.write_tables(tmp_path / "t.csv", "rain")
    assert (tmp_path / "t.csv").read_text() == "rain = no,rain = yes\n0.8,0.2\n"


def test_expected_counts_of_em_are_the_counts(tmp_path):
    net = cw.BayesNetwork({"b": ["a"]}).fit({"a": ["x", "x", None, "y"], "b": ["u", "v", "v", "v"]})
    net.write_tables(tmp_path / "t.csv", "b")
    found = pd.read_csv(tmp_path / "t.csv")
    assert found[["count b = u", "count b = v"]].to_numpy().sum() == pytest.approx(4)


def test_openpyxl_and_pandas_read_the_file(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    cw.NaiveBayesClassifier().fit(RAIN.X, RAIN.y).write_tables(tmp_path / "t.xlsx")
    book = openpyxl.load_workbook(tmp_path / "t.xlsx")
    assert book.sheetnames == ["class", "wind", "temp"]
    assert book["wind"]["A1"].font.b
    assert not book["wind"]["A2"].font.b
    assert book["wind"].freeze_panes == "A2"
    assert pd.read_excel(tmp_path / "t.xlsx", sheet_name="temp")["mean"].tolist() == pytest.approx(
        [25.0333, 20.1], abs=9
    )


def test_any_name_and_text_can_be_written(tmp_path):
    odd = ["a/b[c]*?:", "A/B[C]*?:", "x" * 40, "x" * 41, "History", "'q'", "=1+1", '\x1b<&>"', "", "é€😀_x0041_"]
    tables = {name: Grid({name: [name], "n": [1.5]}) for name in odd}
    write_tables(tables, tmp_path / "t.xlsx")
    sheets = sheets_of(tmp_path / "t.xlsx")
    titles = [title.casefold() for title in sheets]
    assert len(set(titles)) == len(odd)
    assert all(0 < len(title) <= 31 and not set(title) & set("[]:*?/\\") for title in titles)
    assert [cells["B2"] for cells in sheets.values()] == [1.5] * len(odd)
    assert next(iter(sheets.values()))["A2"] == odd[0]
    write_tables(tables, tmp_path / "t.csv")
    lines = list(csv.reader((tmp_path / "t.csv").read_text(encoding="utf-8").splitlines()))
    assert [line[3] for line in lines[1:]] == ["1.5"] * len(odd)
    assert "'=1+1" in [line[0] for line in lines]


def test_empty_infinite_and_huge_cells(tmp_path):
    table = Grid({"k": ["a", "b", "c"], "x": [float("nan"), float("inf"), 2**60], "y": [None, True, np.float32(0.5)]})
    write_tables({"t": table}, tmp_path / "t.xlsx")
    cells = sheets_of(tmp_path / "t.xlsx")["t"]
    assert "B2" not in cells
    assert "C2" not in cells
    assert (cells["B3"], cells["B4"], cells["C3"], cells["C4"]) == ("infinite", 2.0**60, 1.0, 0.5)
    write_tables({"t": table}, tmp_path / "t.csv", "t")
    assert (tmp_path / "t.csv").read_text() == f"k,x,y\na,,\nb,infinite,True\nc,{2**60},0.5\n"


def test_the_same_tables_make_the_same_file(tmp_path):
    for name in ("a.xlsx", "b.xlsx"):
        write_tables({"t": Grid({"n": [1]})}, tmp_path / name)
    assert (tmp_path / "a.xlsx").read_bytes() == (tmp_path / "b.xlsx").read_bytes()


def test_a_table_too_large_for_excel_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(TableError, match=r"write a CSV file"):
        write_tables({"t": Grid({f"c{i}": [] for i in range(16385)})}, tmp_path / "t.xlsx")
    assert not (tmp_path / "t.xlsx").exists()


@pytest.mark.parametrize(
    ("path", "name", "message"),
    [
        ("t.txt", None, "ending in .csv"),
        ("t.csv", "winds", "did you mean"),
        ("t.csv", 3, "no table 3"),
        (7.5, None, "path"),
    ],
)
def test_wrong_arguments_are_named(path, name, message, tmp_path):
    model = cw.NaiveBayesClassifier().fit(RAIN.X, RAIN.y)
    with pytest.raises(OptionError, match=message):
        model.write_tables(tmp_path / path if isinstance(path, str) else path, name)
