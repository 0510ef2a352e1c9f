"""The schema of a model determines how later files are read."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from countwise import NaiveBayesClassifier, TreeClassifier, load, read
from countwise.errors import DataWarning, ReadError

from .running import run

CODES = "c,y\nA1,p\n12,q\n12,q\n7,p\n7,p\n"
NUMBERS = "x,y\n" + "".join(f"{i},{'pq'[i % 2]}\n" for i in range(100))


@pytest.fixture
def files(tmp_path):
    def write(**texts):
        for name, text in texts.items():
            (tmp_path / f"{name}.csv").write_text(text, encoding="utf-8", newline="")
        return tmp_path

    return write


def rows_of(done):
    return [line.split(",") for line in done.stdout.splitlines()[1:]]


def test_codes_that_a_later_file_writes_as_numbers_are_the_same_codes(files):
    folder = files(train=CODES, new="c\n12\n7\n")
    run("train", "train.csv", "-y", "y", "-o", "m.json", cwd=folder)
    done = run("predict", "m.json", "new.csv", cwd=folder)
    assert [row[0] for row in rows_of(done)] == ["q", "p"]
    model = load(folder / "m.json")
    np.testing.assert_allclose(
        [float(row[1]) for row in rows_of(done)], model.predict_proba({"c": ["12", "7"]})[:, 0], atol=1e-6
    )


@pytest.mark.parametrize("new", ["c\n1\n2\nother\n", "c\n1.0\n2.0\nother\n", "c\n 1\n2 \nother\n"])
def test_one_word_in_a_column_of_numbers_does_not_change_the_others(files, new):
    folder = files(train="c,y\n1,p\n1,p\n2,q\n2,q\n", new=new)
    run("train", "train.csv", "-y", "y", "--types", "c=nominal", "-o", "m.json", cwd=folder)
    assert [row[0] for row in rows_of(run("predict", "m.json", "new.csv", cwd=folder))][:2] == ["p", "q"]


def test_a_column_without_any_known_value_is_noted(files):
    folder = files(train="c,x,y\nu,1,p\nv,2,q\nv,3,q\n", new="c,x\nUU,1\n,2\nVV,3\n", some="c,x\nUU,1\nu,2\n")
    run("train", "train.csv", "-y", "y", "-o", "m.json", cwd=folder)
    done = run("predict", "m.json", "new.csv", cwd=folder)
    assert done.stderr == "Note: No value of 'c' was seen in training ('UU', 'VV'); the column is ignored.\n"
    assert run("predict", "m.json", "some.csv", cwd=folder).stderr == ""


def test_a_label_that_was_never_seen_is_wrong_and_the_others_are_scored(files):
    folder = files(train="c,y\nu,1\nu,1\nv,0\nv,0\n", new="c,y\nu,1\nv,0\nv,other\n")
    run("train", "train.csv", "-y", "y", "-o", "m.json", cwd=folder)
    report = json.loads(run("test", "m.json", "new.csv", "--json", cwd=folder).stdout)
    assert report["scores"]["accuracy"] == pytest.approx(2 / 3)
    assert report["classes_never_met"] == {"other": 1}


def test_an_update_takes_what_the_training_took(files):
    folder = files(train="c,y\nA1,p\n12,q\n7,p\n", new="c,y\n12,q\n7,p\n")
    run("train", "train.csv", "-y", "y", "-o", "m.json", cwd=folder)
    run("update", "m.json", "new.csv", cwd=folder)
    whole = NaiveBayesClassifier().fit({"c": ["A1", "12", "7", "12", "7"]}, list("pqpqp"))
    np.testing.assert_array_equal(
        load(folder / "m.json").predict_proba({"c": ["12"]}), whole.predict_proba({"c": ["12"]})
    )
    run("forget", "m.json", "new.csv", cwd=folder)
    assert load(folder / "m.json").class_count_.tolist() == [2, 1]


@pytest.mark.parametrize("command", ["predict", "test", "update"])
def test_a_few_cells_that_are_not_numbers_are_missing_and_counted(files, command):
    folder = files(train=NUMBERS, new="x,y\n" + "1,p\n" * 40 + "n/a!,q\nunknown,q\n")
    run("train", "train.csv", "-y", "y", "-o", "m.json", cwd=folder)
    done = run(command, "m.json", "new.csv", cwd=folder)
    assert "2 of 42 values of 'x' are not numbers: 'n/a!', 'unknown'. They are read as missing." in done.stderr


def test_many_cells_that_are_not_numbers_are_an_error_with_their_rows(files):
    folder = files(train=NUMBERS, new="x\n1\nlow\n2\nhigh\n")
    run("train", "train.csv", "-y", "y", "-o", "m.json", cwd=folder)
    done = run("predict", "m.json", "new.csv", "-o", "out.csv", cwd=folder, check=1)
    assert "2 of 4 values of 'x' are not numbers: 'low' in row 1, 'high' in row 3." in done.stderr
    assert not (folder / "out.csv").exists()


def test_one_bad_cell_among_many_numbers_is_missing_and_noted(files):
    text = "a,y\n" + "".join(f"{'n.a.' if i == 17 else i},{'pq'[i % 2]}\n" for i in range(300))
    folder = files(train=text)
    done = run("train", "train.csv", "-y", "y", "-o", "m.json", cwd=folder)
    assert "1 of 300 values of 'a' is not a number: 'n.a.'" in done.stderr
    assert load(folder / "m.json").schema_["a"].kind == "numeric"
    assert "numeric" in run("look", "train.csv", "-y", "y", cwd=folder).stdout


def test_decimal_commas_are_numbers_when_a_model_is_trained_and_used(files):
    text = "a;y\n" + "".join(f"{i},{i % 10};{'pq'[i > 30]}\n" for i in range(60))
    folder = files(train=text, new="a\n1,5\n55,5\n", plain="a;b\n1.5;0\n55.5;0\n")
    done = run("train", "train.csv", "-y", "y", "-o", "m.json", cwd=folder)
    assert "decimal commas" in done.stderr
    same = rows_of(run("predict", "m.json", "plain.csv", cwd=folder))
    assert [row[0] for row in same] == ["p", "q"]


def test_a_declared_numeric_column_is_numeric_whatever_else_it_has(files):
    folder = files(train="x,y\n1,p\n2,q\n3,p\n4,q\nunknown,p\n")
    done = run("train", "train.csv", "-y", "y", "--types", "x=numeric", "-o", "m.json", cwd=folder)
    assert "1 of 5 values of 'x' is not a number: 'unknown'" in done.stderr


def test_dates_learned_from_parquet_are_asked_as_texts_in_csv(files, tmp_path):
    days = np.arange("2024-01-01", "2024-01-31", dtype="datetime64[D]")
    table = pa.table({"day": days, "y": ["early" if i < 15 else "late" for i in range(30)]})
    parquet.write_table(table, tmp_path / "train.parquet")
    folder = files(new="day\n2024-01-02\n2024-01-29T12:00:00\n\n")
    run("train", "train.parquet", "-y", "y", "-o", "m.json", cwd=folder)
    assert load(folder / "m.json").schema_["day"].kind == "date"
    done = run("predict", "m.json", "new.csv", cwd=folder)
    assert [row[0] for row in rows_of(done)] == ["early", "late"]


def test_a_model_reads_a_file_in_chunks_by_its_own_schema(files):
    folder = files(train=CODES, new="c,y\n12,q\n7,p\n")
    with pytest.warns(DataWarning, match="'c' is read as nominal: 1 of 5 values are not numbers"):
        whole = NaiveBayesClassifier().fit(str(folder / "train.csv"), "y")
    again = whole.partial_fit(str(folder / "new.csv"), "y")
    assert again.n_rows_ == 7
    assert again.schema_["c"].values == ("12", "7", "A1")


def test_the_types_of_a_tree_are_given_to_the_reader(files):
    folder = files(train="x,y\n1,p\n2,q\n3,p\n4,q\nunknown,p\n")
    with pytest.warns(DataWarning, match="1 of 5 values of 'x'"):
        model = TreeClassifier(types={"x": "numeric"}).fit(str(folder / "train.csv"), "y")
    assert model.schema_["x"].kind == "numeric"


def test_weights_of_arff_rows_are_weights(tmp_path):
    path = tmp_path / "t.arff"
    path.write_text("@relation r\n@attribute a numeric\n@attribute y {p,q}\n@data\n1,p,{5}\n2,q\n3,p,{5}\n4,q\n")
    done = run("train", "t.arff", "-y", "y", "-o", "m.json", cwd=tmp_path)
    assert "instance weights" in done.stderr
    model = load(tmp_path / "m.json")
    assert list(model.schema_) == ["a"]
    assert model.class_count_.tolist() == [10, 2]
    with pytest.warns(DataWarning, match="instance weights"):
        assert NaiveBayesClassifier().fit(str(path), "y").class_count_.tolist() == [10, 2]
    report = json.loads(run("test", "m.json", "t.arff", "--json", cwd=tmp_path).stdout)
    assert report["rows"] == 4


def test_a_column_of_an_unsupported_type_can_be_dropped_and_ignored(tmp_path):
    lists = pa.table({"l": [[1]] * 6, "a": [1.0, 2, 3, 4, 5, 6], "y": ["p", "q"] * 3})
    parquet.write_table(lists, tmp_path / "t.parquet")
    done = run("train", "t.parquet", "-y", "y", "-o", "m.json", cwd=tmp_path, check=1)
    assert "'l'" in done.stderr
    for engine in ("memory", "duckdb"):
        run("train", "t.parquet", "-y", "y", "--drop", "l", "--engine", engine, "-o", "m.json", cwd=tmp_path)
        assert len(rows_of(run("predict", "m.json", "t.parquet", cwd=tmp_path))) == 6
    run("test", "m.json", "t.parquet", cwd=tmp_path)


def test_long_fields_are_read(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b,y\n1," + "v" * 200_000 + ",p\n2,z,q\n")
    assert len(read(path)["b"][0]) == 200_000


def test_a_type_that_does_not_exist_is_refused(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a\n1\n")
    with pytest.raises(ReadError, match="The type of column 'a' must be one of"):
        read(path, types={"a": "number"})


def test_a_parquet_file_is_read_by_the_schema_of_a_model_that_was_trained_on_csv(files, tmp_path):
    folder = files(codes=CODES, numbers=NUMBERS, flags="f,y\n" + "true,p\nfalse,q\n" * 3)
    for name in ("codes", "numbers", "flags"):
        run("train", f"{name}.csv", "-y", "y", "-o", f"{name}.json", cwd=folder)
    parquet.write_table(pa.table({"c": [12, 7, None], "y": list("qpp")}), tmp_path / "codes.parquet")
    parquet.write_table(
        pa.table({"x": ["1", "99", "3", "4", "?!"], "y": list("pqqpq")}), tmp_path / "numbers.parquet"
    )
    parquet.write_table(pa.table({"f": ["TRUE", "0"], "y": list("pq")}), tmp_path / "flags.parquet")
    for name, n_rows in (("codes", 8), ("numbers", 105), ("flags", 8)):
        done = run("update", f"{name}.json", f"{name}.parquet", cwd=folder)
        assert load(folder / f"{name}.json").n_rows_ == n_rows
        assert ("1 of 5 values of 'x' is not a number" in done.stderr) == (name == "numbers")
    assert load(folder / "codes.json").schema_["c"].values == ("12", "7", "A1")
    assert load(folder / "flags.json").schema_["f"].values == (False, True)
