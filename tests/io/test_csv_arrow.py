"""CSV through pyarrow: the same tables, types, bits and errors as through the csv module."""

from __future__ import annotations

import csv
import gzip
import io
import sys
import warnings
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from countwise.errors import ReadError
from countwise.io import csv_arrow
from countwise.io.readers import read, read_pieces

pytest.importorskip("pyarrow.csv")
law = settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


# a column of numbers such as "1,5" in a file that tabs separate
pytestmark = [
    pytest.mark.filterwarnings("ignore:The numbers of .* have decimal commas"),
    pytest.mark.filterwarnings("ignore:.* is read as nominal"),
]


@contextmanager
def through(engine: str, block: int = 1 << 22):
    """Read every CSV file by one engine; the list counts what pyarrow has converted in the end."""
    used = []
    convert = csv_arrow.convert

    def counted(column, cells):
        used.append(len(cells))
        return convert(column, cells)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_arrow, "SMALLEST", 0 if engine == "pyarrow" else sys.maxsize)
        patch.setattr(csv_arrow, "BLOCK", block)
        patch.setattr(csv_arrow, "convert", counted)
        yield used


def exact(frame):
    """Everything about a table: names in order, types, each bit of a number, each type of an object."""
    return [
        (
            name,
            column.dtype.str,
            [(type(value), value) for value in column]
            if column.dtype == object
            else np.where(np.isnan(column), np.nan, column).view(np.int64).tolist()
            if column.dtype == np.float64
            else column.tolist(),
        )
        for name, column in frame.items()
    ]


def outcome(reading):
    try:
        return [exact(frame) for frame in reading()]
    except ReadError as error:
        return str(error), error.hint


def agree(path, *, block=1 << 22, rows=7, **options):
    """Compare both engines, whole and in pieces; whether pyarrow was used to the end."""
    for reading in (
        lambda: [read(path, **options)],
        lambda: list(read_pieces(path, rows=rows, **options)),
    ):
        with through("csv") as none:
            expected = outcome(reading)
        with through("pyarrow", block) as used:
            assert outcome(reading) == expected
        assert not none
    return bool(used)


# ------------------------------------------------------------------ laws

NUMBERS = (
    st.text("0123456789+-.eE", max_size=8)
    | st.from_regex(r"[+-]?[0-9]{0,20}\.?[0-9]{0,20}([eE][+-]?[0-9]{1,3})?", fullmatch=True)
    | st.integers(-(2**64), 2**64).map(str)
    | st.floats(allow_nan=False, allow_infinity=False).map(repr)
)
WORDS = st.sampled_from(
    [
        *(
            "",
            "?",
            "NA",
            " NA",
            "1",
            "-2",
            "+3",
            " 4 ",
            "3.5",
            "1e3",
            "007",
            "-01",
            "0",
            "-0",
            "true",
            "false",
        ),
        *(
            "TRUE",
            "x",
            "1_0",
            "inf",
            "-Infinity",
            "nan",
            "é",
            "0x10",
            '"',
            "a\nb",
            "c\r\nd",
            "x,y",
            "-999",
            "\ufeff1",
        ),
    ]
)
TEXTS = st.text(st.characters(exclude_characters="\0\r", exclude_categories=["Cs"]), max_size=5)
COLUMNS = st.sampled_from([NUMBERS, st.integers(-99, 99).map(str), WORDS, WORDS | TEXTS, TEXTS])


@st.composite
def tables(draw):
    kinds = draw(st.lists(COLUMNS, min_size=1, max_size=4))
    rows = draw(st.integers(0, 12))
    return [[draw(kind) for kind in kinds] for _ in range(rows)]


@law
@given(
    table=tables(),
    separator=st.sampled_from(",;\t| "),
    end=st.sampled_from(["\n", "\r\n", "\n\n"]),
    quoting=st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]),
    block=st.sampled_from([1, 2, 3, 7, 50, 1 << 22]),
    header=st.booleans(),
    mark=st.booleans(),
    missing=st.sampled_from([("", "?", "NA"), (), ("-999", "1"), ("é", "NA ")]),
)
def test_a_well_written_table_is_the_same_through_both(
    tmp_path, table, separator, end, quoting, block, header, mark, missing
):
    width = len(table[0]) if table else 2
    out = io.StringIO()
    writer = csv.writer(out, delimiter=separator, lineterminator=end, quoting=quoting)
    writer.writerows([*([[f"c{i}" for i in range(width)]] if header or not table else []), *table])
    path = tmp_path / "t.csv"
    path.write_bytes(("\ufeff" * mark + out.getvalue()).encode())
    used = agree(path, block=block, separator=separator, header=header, missing=missing)
    if table and block > 7 and "\ufeff" not in out.getvalue():  # a small block may be too small for a row
        assert used


@law
@given(
    text=st.text('a1,"\n\r\t ;é0.-\ufeff', max_size=40),
    block=st.sampled_from([1, 2, 5, 1 << 22]),
    separator=st.sampled_from([",", None]),
    header=st.booleans(),
)
@example('a,b\n"x"y,1\n', 5, ",", True)
@example('a,b\nx"y,1\n', 5, ",", True)
@example('a,b\n "x",1\n', 5, ",", True)
@example('a,b\n"x\n",1\n"', 5, ",", True)
@example('a\n""\n\n"""\n"\n', 2, ",", True)
@example("\ufeff\ufeff1,2\n", 1 << 22, ",", False)
@example("a,b\n1,2\n\ufeff3,4\n\ufeff5,6\n7,8\n", 5, ",", True)
def test_any_text_gives_the_same_table_or_the_same_error(tmp_path, text, block, separator, header):
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode())
    agree(path, block=block, separator=separator, header=header)


@law
@given(data=st.binary(max_size=40), head=st.sampled_from([b"", b"a,b\n1,2\n", b"a\n"]), block=st.integers(1, 60))
def test_any_bytes_give_the_same_table_or_the_same_error(tmp_path, data, head, block):
    path = tmp_path / "t.csv"
    path.write_bytes(head + data)
    agree(path, block=block)


@law
@given(cells=st.lists(NUMBERS, min_size=1, max_size=6))
@example(["1e999"])
@example(["1e-400", "5e-324", "2.2250738585072011e-308"])
@example(["9007199254740993", "9223372036854775807"])
@example(["9223372036854775808"])
@example(["-0", "-0.0"])
@example(["1", "+1"])
def test_numbers_have_the_same_type_and_bits(tmp_path, cells):
    path = tmp_path / "t.csv"
    path.write_text("x,y\n" + "".join(f"{cell},t\n" for cell in cells))
    assert agree(path, separator=",")


# ------------------------------------------------------------------ what is left to the csv module


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n" + "1,2\n" * 99 + "3\n", "Line 101 "),
        ("a,b\n" + "1,2\n" * 99 + "3,4,5\n", "Line 101 "),
        ('a,b\n1,2\n"3"x,4\n', "begins in line 3 "),
        ('a,b\n1,2\n"3,4\n5,6\n', "begins in line 3 .*never closed"),
        (b"a,b\n1,x\n2,K\xf6ln\n", "byte 11 "),
        (b"a,b\n1,\x002\n", "NUL"),
    ],
)
def test_a_bad_file_is_named_by_its_line_as_ever(tmp_path, text, message):
    path = tmp_path / "t.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with through("pyarrow", 64) as used, pytest.raises(ReadError, match=message):
        read(path)
    assert not used
    agree(path, block=64)


@pytest.mark.parametrize(
    ("data", "options"),
    [
        (b'a,b\n1,say "hi"\n', {}),
        (b"a,b\r1,2\r", {}),
        ("a,b\n1,é\n".encode("utf-16"), {}),
        ("a,b\n1,é\n".encode("latin-1"), {"encoding": "latin-1"}),
        ("a§b\n1§2\n".encode(), {"separator": "§"}),
        (b"a,b\n1,'x,y'\n", {"quote": "'"}),
        (b'a,b\n1,"x\n', {"quote": None}),
        (b"a,b\n1,x\n", {"missing": ["\ud800"]}),
    ],
)
def test_a_file_that_is_not_plain_is_read_by_the_csv_module(tmp_path, data, options):
    path = tmp_path / "t.csv"
    path.write_bytes(data)
    assert not agree(path, **options)


def test_a_row_that_seems_endless_is_left_to_the_csv_module(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1," + "x" * 500 + "\n")
    assert not agree(path, block=10)


def test_without_pyarrow_the_csv_module_reads_all(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,x\n")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with through("pyarrow") as used:
        assert read(path)["b"].tolist() == ["x"]
    assert not used


# ------------------------------------------------------------------ several files, and the rest


def test_files_read_by_different_engines_are_one_table(tmp_path):
    for name, text in (("1", "a,b\n1,x\n"), ("2", 'b,a\ny"z,2.5\n'), ("3", 'a,b\n3,"x"\n')):
        tmp_path.joinpath(name + ".csv").write_text(text)
    with through("pyarrow") as used:
        (piece,) = read_pieces(str(tmp_path / "*.csv"))
    assert (piece["a"].tolist(), piece["b"].tolist()) == ([1.0, 2.5, 3.0], ["x", 'y"z', "x"])
    assert len(used) == 4
    assert piece["b"][0] is piece["b"][2]


def test_gzip_and_large_tables_are_the_same_through_both(tmp_path):
    rows = "".join(f'{i},{i / 7 if i % 5 else ""},"t, {i % 3}",{i % 2 == 0}\n' for i in range(3000))
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(f"a,b,c,d\n{rows}".encode()))
    assert agree(path, block=1000, rows=100)
    assert agree(path, block=4096, rows=5000, encoding="UTF8")


def test_only_large_files_are_worth_the_import(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "1,x\n" * (csv_arrow.SMALLEST // 4))
    convert, used = csv_arrow.convert, []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_arrow, "convert", lambda *both: used.append(1) or convert(*both))
        assert read(path)["a"].sum() == csv_arrow.SMALLEST // 4
        assert used
        used.clear()
        path.write_text("a,b\n1,x\n")
        read(path)
        assert not used


def test_a_file_that_changes_between_the_two_readings_is_refused(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "1,2\n" * 50_000)  # more than is read ahead
    with through("pyarrow", 4096):
        pieces = read_pieces(path, rows=5)
        next(pieces)
        path.write_text("a,b\n" + "1,x\n" * 50_000)
        with pytest.raises(ReadError, match="changed while it was read"):
            list(pieces)


@pytest.mark.parametrize(
    "cells", [["0"] * 7 + ["1" * 400, "inf"], ["0,5"] * 7 + ["1" * 400, "-inf"], ["0"] * 8 + ["1" * 400]]
)
def test_an_integer_beyond_floats_is_the_same_in_one_piece_and_in_many(tmp_path, cells):
    path = tmp_path / "t.csv"
    path.write_text("c;y\n" + "".join(f"{cell};p\n" for cell in cells))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = read(path)["c"].tolist()
        pieces = [value for piece in read_pieces(path, rows=1) for value in piece["c"].tolist()]
    assert repr(pieces) == repr(whole)
