"""Tables of several files: patterns, folders and lists of paths."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from countwise import NaiveBayesClassifier, NeighborsClassifier, TreeClassifier, read
from countwise.errors import DataWarning, ReadError, SchemaError
from countwise.io.paths import is_paths, resolved
from countwise.io.readers import attribute_hints, column_names, read_pieces

ROWS = pd.DataFrame(
    {
        "wind": ["north", "east", None, "east", "south", "north", "east"],
        "temp": [32.1, 18.0, 19.5, np.nan, 20.0, 21.0, 3.0],
        "days": [1, 2, 3, 4, 5, 6, 7],
        "rain": ["no", "yes", "yes", "no", "no", "yes", "no"],
    }
)


@pytest.fixture
def folder(tmp_path):
    """The rows cut into three files, below each other in the order of their names; and a table apart."""
    place = tmp_path / "rows"
    (place / "more").mkdir(parents=True)
    for name, part in (("a", ROWS[:3]), ("b", ROWS[3:4]), ("more/c", ROWS[4:])):
        part.to_parquet(place / f"{name}.parquet")
        part.to_csv(place / f"{name}.csv", index=False)
    (place / "_SUCCESS").write_text("")
    (place / "_metadata.parquet").write_text("an engine's own")
    return place


def same_model(one, other):
    return all(np.allclose(t.table, other.tallies_[k].table) for k, t in one.tallies_.items() if hasattr(t, "table"))


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_patterns_lists_and_folders_teach_what_one_table_teaches(folder, ending):
    whole = NaiveBayesClassifier().fit(ROWS, "rain")
    files = [folder / f"{name}.{ending}" for name in ("a", "b", "more/c")]
    sources = [f"{folder}/**/[a-c].{ending}", files, tuple(files), [str(file) for file in files]]
    for source in [*sources, *([folder, str(folder)] if ending == "parquet" else [])]:
        found = NaiveBayesClassifier().fit(source, "rain")
        assert found.n_rows_ == 7
        assert same_model(found, whole)
        assert read(source)["days"].tolist() == list(range(1, 8))
        assert column_names(source) == ["wind", "temp", "days", "rain"]


def test_what_needs_rows_takes_lists_of_paths_too(folder):
    files = [str(folder / "a.csv"), str(folder / "b.csv"), str(folder / "more" / "c.csv")]
    for model in (NeighborsClassifier(n_neighbors=1), TreeClassifier()):
        assert model.fit(files, "rain").predict(ROWS).tolist() == model.fit(ROWS, "rain").predict(ROWS).tolist()
    binned = TreeClassifier(thresholds="binned")
    assert binned.fit(files, "rain").n_rows_ == 7


def test_rows_of_files_are_added_and_taken_back(folder):
    model = NaiveBayesClassifier().fit(folder / "a.parquet", "rain")
    model.partial_fit([folder / "b.parquet", folder / "more" / "c.parquet"], "rain")
    assert same_model(model, NaiveBayesClassifier().fit(ROWS, "rain"))
    model.forget(f"{folder}/more/*.parquet", "rain")
    assert same_model(model, NaiveBayesClassifier().fit(ROWS[:4], "rain"))


def test_a_folder_that_is_called_a_table_is_one(folder):
    (folder / "more").rename(folder / "day.parquet")
    assert [file.name for file in resolved(f"{folder}/[bd]*.parquet")] == ["b.parquet", "c.parquet"]


def test_a_list_of_documents_is_no_list_of_paths():
    assert is_paths(["a.csv", "b.csv"])
    assert not is_paths(["buy now", "see a.csv"])
    assert not is_paths([])


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("rows/a.cvs", "The file '.*a.cvs' does not exist. Hint: did you mean 'a.csv'?"),
        ("rows/*.parqet", "No file matches '.*parqet'. Hint: did you mean '\\*.parquet'?"),
        ("rovs/*.parquet", "No file matches '.*'. Hint: check the folder: '.*rovs' does not exist"),
        ("rows/x*/y.csv", "No file matches '.*'. Hint: check the folder"),
        ("rows/texts", "is a folder that contains no Parquet files. Hint: did you mean '.*texts/\\*.csv'?"),
        (("rows/a.csv", "rows/[a-b].csv"), "'a.csv' is given twice, so that its rows would be counted twice"),
        (("rows/a.csv", "rows/a.parquet"), "different formats"),
    ],
)
def test_what_is_not_there_or_not_meant_is_told(folder, monkeypatch, name, told):
    (folder / "texts").mkdir()
    (folder / "texts" / "a.csv").write_text("a\n1\n")
    monkeypatch.chdir(folder.parent)
    with pytest.raises(ReadError, match=told):
        list(read_pieces(name))


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_file_with_other_columns_is_named(folder, ending):
    ROWS.drop(columns="temp").rename(columns={"wind": "wnd"}).to_csv(folder / "odd.csv", index=False)
    ROWS.drop(columns="temp").rename(columns={"wind": "wnd"}).to_parquet(folder / "odd.parquet")
    with pytest.raises(
        ReadError, match=r"'a\.\w+' has 'wind', 'temp', but 'odd\.\w+' does not. Hint: did you mean 'wnd'"
    ):
        list(read_pieces(f"{folder}/[ao]*.{ending}"))
    with pytest.raises(ReadError, match=r"'odd\.\w+' has 'wnd', but 'a\.\w+' does not"):
        list(read_pieces([folder / f"odd.{ending}", folder / f"a.{ending}"]))


def test_a_file_with_another_kind_of_column_is_named_by_its_path_if_names_are_equal(folder):
    ROWS.assign(temp="warm").to_parquet(folder / "more" / "a.parquet")
    with pytest.raises(ReadError, match=r"'temp' is float in '.*rows/a.parquet', but text in '.*more/a.parquet'"):
        list(read_pieces(f"{folder}/**/a.parquet"))


def test_whole_numbers_in_one_file_and_broken_ones_in_another_are_numbers(folder):
    ROWS.assign(days=[0.5] * 7).to_parquet(folder / "more" / "c.parquet")
    assert read(folder)["days"].tolist() == [1.0, 2.0, 3.0, 4.0, *[0.5] * 7]
    ROWS.assign(days=pd.array([None, *range(6)], dtype="Int64")).to_parquet(folder / "more" / "c.parquet")
    found = read(folder)["days"]
    assert found.dtype == np.float64
    assert np.isnan(found[4])


def test_folders_that_stand_for_a_column_are_not_read_and_that_is_said(tmp_path):
    for year in (2023, 2024):
        (tmp_path / f"year={year}").mkdir()
        ROWS.to_parquet(tmp_path / f"year={year}" / "part.parquet")
    with pytest.warns(DataWarning, match="Partition folders do not become columns: 'year=…'"):
        found = read(tmp_path)
    assert list(found) == list(ROWS)
    assert len(found["days"]) == 14
    assert len(read(tmp_path / "year=2024")["days"]) == 7  # it is not the folder's name that tells apart


def test_declared_values_of_several_files_are_joined(tmp_path):
    for name, values in (("a", "sunny, rainy"), ("b", "rainy, foggy")):
        text = f"@relation r\n@attribute sky {{{values}}}\n@attribute x numeric\n@data\nrainy,1\n"
        (tmp_path / f"{name}.arff").write_text(text)
    assert attribute_hints(f"{tmp_path}/*.arff")["sky"] == ("nominal", ("sunny", "rainy", "foggy"))
    frame = pd.DataFrame({"c": pd.Categorical(["lo", "hi"] * 500), "d": pd.Categorical(["x"] * 1000)})
    frame.to_parquet(tmp_path / "c.parquet", row_group_size=100)
    assert set(attribute_hints(tmp_path / "c.parquet")["c"][1]) == {"lo", "hi"}


def test_many_files_are_not_open_at_once(tmp_path):
    resource = pytest.importorskip("resource")
    for i in range(60):
        ROWS.to_parquet(tmp_path / f"{i:02}.parquet")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = len(list(Path("/proc/self/fd").iterdir())) if Path("/proc/self/fd").exists() else 64
    resource.setrlimit(resource.RLIMIT_NOFILE, (used + 30, hard))
    try:
        assert len(read(tmp_path)["days"]) == 420
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_row_is_told_of_by_its_place_in_the_whole_table(folder):
    def pieces():
        yield {"x": np.array([1.0, 2.0]), "y": ["a", "b"]}
        yield {"x": np.array([1.0, "?"], dtype=object), "y": ["a", "b"]}

    with pytest.raises(SchemaError, match=r"'\?' in row 3"):
        NaiveBayesClassifier(types={"x": "numeric"}).fit(pieces(), "y")
