"""CSV and Parquet files, whole and in pieces, good and bad."""

from __future__ import annotations

import contextlib
import csv
import datetime
import gzip
import io
import math
import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from countwise.errors import DataWarning, ReadError
from countwise.io.readers import MISSING, attribute_hints, read, read_pieces


@pytest.fixture
def write(tmp_path):
    def writer(content: str | bytes, name: str = "table.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return writer


def plain(column):
    """A column as a list in which NaN equals NaN."""
    return ["nan" if isinstance(v, float) and math.isnan(v) else v for v in column.tolist()]


def same(a, b):
    assert list(a) == list(b)
    for name in a:
        assert a[name].dtype == b[name].dtype, name
        assert plain(a[name]) == plain(b[name]), name


pytestmark = [
    pytest.mark.filterwarnings("ignore:The numbers of .* have decimal commas"),
    pytest.mark.filterwarnings("ignore:.* is read as nominal"),
]


# ------------------------------------------------------------------ types


@pytest.mark.parametrize(
    ("cells", "dtype", "expected"),
    [
        (["1", "2", "-3", "+4"], "int64", [1, 2, -3, 4]),
        (["9223372036854775807", "-9223372036854775808"], "int64", [2**63 - 1, -(2**63)]),
        (["9223372036854775808", "1"], "object", [2**63, 1]),
        (["9007199254740993", ""], "object", [9007199254740993, None]),
        (["9007199254740993"], "int64", [9007199254740993]),
        (["1", "?", "3"], "float64", [1.0, "nan", 3.0]),
        (["1", "2.", ".5", "1e3", "-2E-2"], "float64", [1.0, 2.0, 0.5, 1000.0, -0.02]),
        (["0", "-0", "0.5", "1e05"], "float64", [0.0, 0.0, 0.5, 1e5]),
        ([" 1", "2 ", "\t3"], "int64", [1, 2, 3]),
        (["1", " ? ", "3"], "float64", [1.0, "nan", 3.0]),
        (["inf", "-inf", "Infinity", "1"], "float64", [math.inf, -math.inf, math.inf, 1.0]),
        (["NA", "", "null"], "float64", ["nan", "nan", "nan"]),
        (["1_000", "2"], "object", ["1_000", "2"]),
        (["0x10", "2"], "object", ["0x10", "2"]),
        (["١٢", "2"], "object", ["١٢", "2"]),
        (["infinity", "2"], "object", ["infinity", "2"]),
        (["1e999", "2"], "object", ["1e999", "2"]),
        (["007", "12"], "object", ["007", "12"]),
        (["-01", "12"], "object", ["-01", "12"]),
        (["00.5", "12"], "object", ["00.5", "12"]),
        (["1,5", "2"], "object", ["1,5", "2"]),
        (["1\n", "2"], "object", ["1\n", "2"]),
        (["1 2", "2"], "object", ["1 2", "2"]),
        (["e5", "2"], "object", ["e5", "2"]),
        (["+", "2"], "object", ["+", "2"]),
        (["true", "false", "true"], "object", [True, False, True]),
        (["TRUE", "?", "FALSE"], "object", [True, None, False]),
        (["True", " False "], "object", [True, False]),
        (["true", "FALSE"], "object", ["true", "FALSE"]),
        (["true", "1"], "object", ["true", "1"]),
        (["a", "None", " b", ""], "object", ["a", None, " b", None]),
    ],
)
def test_the_type_of_a_column_follows_its_cells(write, cells, dtype, expected):
    out = io.StringIO()
    csv.writer(out).writerows([["x", "y"], *([cell, "text"] for cell in cells)])
    column = read(write(out.getvalue()))["x"]
    assert column.dtype == dtype
    assert plain(column) == expected


def test_a_type_is_decided_by_the_whole_file_and_not_by_its_first_rows(write):
    path = write("a,b,c\n" + "1,1,true\n" * 5000 + "x,1.5,?\n" * 300)
    frame = read(path)
    assert (frame["a"][0], frame["b"][0], frame["c"][0]) == ("1", 1.0, True)
    first = next(read_pieces(path, rows=10))
    assert (first["a"].dtype, first["b"].dtype, first["c"].dtype) == (object, np.float64, object)


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("a\n1\n2\nlow\n", "'a' is read as nominal: 1 of 3 values are not numbers \\('low'\\)"),
        ("a;b\n1,5;x\n2,5;y\nn/a;z\n", "'a' is read as nominal: 1 of 3 values are not numbers \\('n/a'\\)"),
    ],
)
def test_a_column_that_is_nearly_numeric_is_noted(write, text, note):
    with pytest.warns(DataWarning, match=note):
        read(write(text))


def test_a_column_with_few_numbers_or_codes_is_not_noted(write):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read(write("a,b\n1,007\nlow,12\nhigh,13\nx,14\n"))


def test_the_words_for_missing_can_be_chosen_and_may_look_like_numbers(write):
    path = write("a,b\n-999,x\n 1 , -999\n2,NA\n")
    frame = read(path, missing=["-999"])
    assert plain(frame["a"]) == ["nan", 1.0, 2.0]
    assert frame["b"].tolist() == ["x", None, "NA"]
    assert read(path, missing=[])["b"].tolist() == ["x", " -999", "NA"]
    assert read(path, missing="NA")["b"].tolist() == ["x", " -999", None]


def test_nan_is_a_number_even_if_it_is_not_a_word_for_missing(write):
    frame = read(write("a\nnan\n1\n"), missing=[])
    assert plain(frame["a"]) == ["nan", 1.0]


def test_equal_texts_share_one_object(write):
    column = read(write("a\n" + "north wind\neast\n" * 100))["a"]
    assert len({id(value) for value in column}) == 2


# ------------------------------------------------------------------ shapes of text


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_the_separator_is_found_by_consistent_counts(write, separator):
    other = ";" if separator == "," else ","
    rows = [("a", "b", "c"), ("x y", "1.5", "u"), ("z", "2", "v" + other)]
    assert read(write("\n".join(map(separator.join, rows))))["b"].tolist() == [1.5, 2.0]


def test_a_decimal_comma_does_not_win_over_the_semicolon(write):
    with pytest.warns(DataWarning, match="numbers of 'a', 'b' have decimal commas"):
        assert read(write("a;b\n1,5;2,5\n3,5;4,5\n"))["a"].tolist() == [1.5, 3.5]


def test_a_given_separator_is_taken_and_one_column_needs_none(write):
    assert list(read(write("a#b\n1#2\n"), separator="#")) == ["a", "b"]
    assert read(write("a\n1\n2\n"))["a"].tolist() == [1, 2]


def test_tsv_is_cut_at_tabs_whatever_else_it_contains(write):
    assert read(write("a,b\tc\nx,2\t3\n", "t.tsv"))["a,b"].tolist() == ["x,2"]


def test_quotes_hold_separators_newlines_and_doubled_quotes(write):
    frame = read(write('a,b\r\n"x, y","one\ntwo"\r\n"say ""hi""",3\r\n'))
    assert frame["a"].tolist() == ["x, y", 'say "hi"']
    assert frame["b"].tolist() == ["one\ntwo", "3"]


def test_without_a_quotation_mark_quotes_are_text(write):
    frame = read(write('ham\t"Happy day" I know\nspam\t"call\n', "t.tsv"), header=False, quote=None, names=["l", "m"])
    assert frame["m"].tolist() == ['"Happy day" I know', '"call']


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("last", [True, False])
def test_every_kind_of_line_end_will_do(write, end, last):
    text = end.join(["a,b", "1,x", "", "2,y"]) + (end if last else "")
    frame = read(write(text))
    assert frame["a"].tolist() == [1, 2]
    assert frame["b"].tolist() == ["x", "y"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le-bom", "utf-16-be-bom"])
def test_unicode_is_recognized_with_and_without_a_mark(write, encoding):
    text = "größe,ort\n1,Łódź\n2,東京\n"
    data = ("\ufeff" + text).encode(encoding[:-4]) if encoding.endswith("-bom") else text.encode(encoding)
    frame = read(write(data))
    assert list(frame) == ["größe", "ort"]
    assert frame["ort"].tolist() == ["Łódź", "東京"]


def test_other_encodings_are_read_when_named(write):
    assert read(write("ort\nKöln\n".encode("latin-1")), encoding="latin-1")["ort"].tolist() == ["Köln"]
    assert list(read(write("\ufefforts\nx\n".encode()), encoding="utf-8")) == ["orts"]


@pytest.mark.parametrize("name", ["t.csv.gz", "t.csv"])
def test_gzip_is_unpacked_whatever_the_ending(write, name):
    assert read(write(gzip.compress(b"a,b\n1,2\n"), name))["b"].tolist() == [2]


def test_a_header_alone_gives_zero_rows(write):
    frame = read(write("a,b\n"))
    assert {name: len(column) for name, column in frame.items()} == {"a": 0, "b": 0}
    (piece,) = read_pieces(write("a,b"))
    assert list(piece) == ["a", "b"]


def test_columns_without_a_header_are_numbered_or_named(write):
    path = write("1,x\n2,y\n")
    assert list(read(path, header=False)) == ["column1", "column2"]
    assert read(path, header=False, names=["n", "s"])["n"].tolist() == [1, 2]
    assert list(read(path, names=["n", "s"])) == ["n", "s"]
    assert read(path, names=["n", "s"])["n"].tolist() == [2]


def test_names_lose_spaces_around_them_and_empty_ones_are_numbered(write):
    assert list(read(write(" a ,,c\n1,2,3\n"))) == ["a", "column2", "c"]


def test_the_size_of_the_pieces_read_at_a_time_changes_nothing(write):
    path = write("a,b,c\n" + "".join(f"{i},{i / 7 if i % 5 else ''},t{i % 3}\n" for i in range(1000)))
    for size in (1, 7, 999, 1000, 5000):
        same(read(path, pieces=size), read(path))


# ------------------------------------------------------------------ errors


BAD = {
    "ragged row": ("a,b\n1,2\n3\n", {}, r"Line 3 .* has 1 field, but 2 are expected"),
    "ragged row after a quoted newline": ('a,b\n"x\ny",2\n\n3,4,5\n', {}, r"Line 5 .* has 3 fields, but 2"),
    "ragged row far below": ("a,b\n" + "1,2\n" * 5000 + "3,4,5\n", {}, r"Line 5002 "),
    "duplicate names": ("a,b,a\n1,2,3\n", {}, r"'a' occurs twice .*columns 1 and 3"),
    "duplicate given names": ("a,b\n1,2\n", {"names": ["x", "x"]}, r"'x' occurs twice"),
    "too few names": ("a,b\n1,2\n", {"names": ["x"]}, r"The length of names is 1, but .* has 2 columns"),
    "empty file": ("", {}, r"is empty"),
    "blank lines only": ("\n\n", {}, r"is empty"),
    "bad byte": (b"a,b\n1,x\n2,K\xf6ln\n", {}, r"byte 11 \(0xf6\) in line 3"),
    "bad byte that begins a character": (b"a,b\n1,\xe9,2\n", {}, r"byte 6 \(0xe9\) in line 2"),
    "cut within a character": ("a\nö".encode()[:-1], {}, r"ends in the middle of a character, at byte 3"),
    "NUL bytes": (b"a,b\n1,\x002\n", {}, r"Line 2 .* NUL"),
    "UTF-16 without a mark": ("a,b\n1,2\n".encode("utf-16-le"), {}, r"NUL .*utf-16-le"),
    "binary garbage": (bytes(range(256)) * 4, {}, r"NUL|cannot be decoded"),
    "Parquet by another name": (b"PAR1\x15\x04\x15", {}, r"not a text file.*\.parquet"),
    "Excel by another name": (b"PK\x03\x04\x14\x00", {}, r"not a text file.*Excel"),
    "open quote": ('a,b\n1,2\n"3,4\n5,6\n', {}, r"begins in line 3 .* never closed.*quote=None"),
    "open quote in the header": ('a,"b\n1,2\n', {}, r"begins in line 1 "),
    "text after a quote": ('a,b\n1,2\n"3"x,4\n', {}, r"begins in line 3 .*quote=None"),
    "unknown encoding": ("a\n1\n", {"encoding": "klingon"}, r"encoding 'klingon' is unknown"),
    "wrong encoding": (b"a\n\xff\n", {"encoding": "ascii"}, r"is not ascii text: byte 2"),
    "long separator": ("a\n1\n", {"separator": "::"}, r"separator must be a single character, not '::'"),
    "separator that is no text": ("a\n1\n", {"separator": 5}, r"separator must be a single character, not 5"),
    "long quote": ("a\n1\n", {"quote": "''"}, r"quote must be a single character"),
    "missing values that are no texts": ("a\n1\n", {"missing": 5}, r"missing must be a list of strings, not 5"),
    "separator that quotes": ("a\n1\n", {"separator": '"'}, r"both"),
    "no rows at a time": ("a\n1\n", {"pieces": 0}, r"at least 1 row, not 0"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_file_is_refused_with_its_place_and_a_hint(write, case):
    content, options, pattern = BAD[case]
    with pytest.raises(ReadError, match=re.compile(pattern, re.DOTALL)) as caught:
        read(write(content), **options)
    assert caught.value.hint


def test_broken_gzip_is_refused(write):
    packed = gzip.compress(b"a,b\n" + b"1,2\n" * 1000)
    with pytest.raises(ReadError, match="cannot be read"):
        read(write(packed[:40], "t.csv.gz"))
    with pytest.raises(ReadError, match="cannot be read"):
        read(write(packed[:20] + b"\x00\x01\x02" + packed[23:], "t.csv.gz"))


def test_missing_files_folders_and_unknown_endings_are_named(write, tmp_path):
    for bad, pattern in (
        (tmp_path / "no.csv", "The file .* does not exist"),
        (tmp_path, "is a folder"),
        (write("a\n1\n", "t.xlsx"), "its extension must be one of '.csv'"),
    ):
        with pytest.raises(ReadError, match=pattern):
            read(bad)
        with pytest.raises(ReadError, match=pattern):
            list(read_pieces(bad))
    with pytest.raises(ReadError, match="No file matches"):
        read_pieces(str(tmp_path / "none*.csv"))
    with pytest.raises(ReadError, match="The list of paths is empty"):
        read_pieces([])


# ------------------------------------------------------------------ several files


def test_a_pattern_reads_files_in_order_and_types_hold_over_all(write, tmp_path):
    write("a,b\n1,x\n2,y\n", "p1.csv")
    write("b,a\nz,2.5\n", "p2.csv")
    pieces = list(read_pieces(str(tmp_path / "p*.csv"), rows=2))
    assert [piece["a"].tolist() for piece in pieces] == [[1.0, 2.0], [2.5]]
    assert [piece["b"].tolist() for piece in pieces] == [["x", "y"], ["z"]]
    same(
        next(read_pieces([tmp_path / "p1.csv", tmp_path / "p2.csv"])),
        next(read_pieces(str(tmp_path / "p?.csv"))),
    )


def test_a_file_with_a_bracket_in_its_name_is_a_file(write):
    assert next(read_pieces(str(write("a\n1\n", "t[1].csv"))))["a"].tolist() == [1]


def test_files_that_differ_in_columns_or_format_are_refused(write):
    one, two, three = (
        write("a,b\n1,2\n", "1.csv"),
        write("a,c\n1,2\n", "2.csv"),
        write("@relation x", "3.arff"),
    )
    with pytest.raises(ReadError, match=r"different columns: '1.csv' has 'b', but '2.csv' does not"):
        list(read_pieces([one, two]))
    with pytest.raises(ReadError, match="different formats: 'arff', 'csv'"):
        list(read_pieces([one, three]))


# ------------------------------------------------------------------ laws

WORDS = st.sampled_from(
    [
        "",
        "?",
        "NA",
        "1",
        "-2",
        "3.5",
        "1e3",
        "007",
        "true",
        "false",
        "TRUE",
        "x",
        " x",
        " 4 ",
        "1_0",
        "inf",
        "é",
    ]
) | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=5)
TABLES = st.integers(1, 4).flatmap(
    lambda width: st.lists(st.lists(WORDS, min_size=width, max_size=width), max_size=12)
)


def is_number(cell: str) -> bool:
    """Written differently from the reader, one cell at a time."""
    if cell in ("inf", "-inf", "Inf", "-Inf", "Infinity", "-Infinity", "nan", "NaN"):
        return True
    match = re.fullmatch(r"[+-]?([0-9]*)(\.?)([0-9]*)([eE][+-]?[0-9]+)?", cell)
    if not match or not (match[1] or match[3]):
        return False
    return not (len(match[1]) > 1 and match[1][0] == "0") and math.isfinite(float(cell))


def has_commas(present, separator):
    """Whether cells are numbers with decimal commas, in a file that is not separated by commas."""
    commas = [cell for cell in present if "," in cell]
    numbers = all(re.fullmatch("[+-]?[0-9]+(,[0-9]+)?", cell) for cell in present)
    zeros = any(re.match("[+-]?0[0-9]", cell) for cell in present)
    thousands = all(re.fullmatch("[+-]?[0-9]{1,3},[0-9]{3}", cell) for cell in commas)
    return bool(commas) and separator != "," and numbers and not zeros and (separator == ";" or not thousands)


def slow_column(cells, separator):
    """The specification of a CSV column, cell by cell."""
    bare = [cell.strip(" \t") for cell in cells]
    present = [cell for cell in bare if cell not in MISSING]
    if all(map(is_number, present)):
        whole = bool(present) and all(re.fullmatch("[+-]?[0-9]+", cell) for cell in bare)
        if whole and all(-(2**63) <= int(cell) < 2**63 for cell in bare):
            return "int64", [int(cell) for cell in bare]
        return "float64", ["nan" if c in MISSING or c in ("nan", "NaN") else float(c) for c in bare]
    if has_commas(present, separator):
        return "float64", ["nan" if cell in MISSING else float(cell.replace(",", ".")) for cell in bare]
    for true, false in (("true", "false"), ("True", "False"), ("TRUE", "FALSE")):
        if set(present) <= {true, false}:
            return "object", [None if cell in MISSING else cell == true for cell in bare]
    return "object", [None if b in MISSING else without_guard(c) for b, c in zip(bare, cells, strict=True)]


def without_guard(cell):
    """The text without the apostrophe that was written before what a spreadsheet would run as a formula."""
    text = cell.removeprefix("'")
    formula = text.lstrip("'")[:1] in tuple("=+-@\t\r") and len(text.lstrip("'")) > 1
    number = re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", text)
    return text if cell.startswith("'") and formula and not number else cell


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    table=TABLES,
    separator=st.sampled_from(",;\t|"),
    end=st.sampled_from(["\n", "\r\n"]),
    block=st.integers(1, 5),
)
def test_reading_equals_the_cell_by_cell_specification(tmp_path, table, separator, end, block):
    width = len(table[0]) if table else 2
    names = [f"c{i}" for i in range(width)]
    path = tmp_path / "law.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=separator, lineterminator=end, quoting=csv.QUOTE_ALL)
        writer.writerows([names, *table])
    frame = read(path, separator=separator, pieces=block)
    assert list(frame) == names
    for name, cells in zip(names, zip(*table, strict=True), strict=bool(table)):
        dtype, values = slow_column(cells, separator)
        assert frame[name].dtype == dtype
        assert plain(frame[name]) == values


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(table=TABLES, rows=st.integers(1, 6))
def test_pieces_joined_equal_the_file_read_at_once(tmp_path, table, rows):
    path = tmp_path / "law.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows(
            [[f"c{i}" for i in range(len(table[0]) if table else 2)], *table]
        )
    whole = read(path, separator=",")
    pieces = list(read_pieces(path, separator=",", rows=rows))
    lengths = [len(piece["c0"]) for piece in pieces]
    assert all(length == rows for length in lengths[:-1])
    assert lengths[-1] <= rows
    same({name: np.concatenate([piece[name] for piece in pieces]) for name in whole}, whole)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=60) | st.text('a1,"\n\r\t ;é', max_size=40).map(str.encode))
@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.csv.gz", "t.arff", "t.parquet"])
def test_any_bytes_give_a_table_or_a_read_error(tmp_path, data, name):
    path = tmp_path / name
    path.write_bytes(data)
    with contextlib.suppress(ReadError):
        assert len({len(column) for column in read(path).values()}) == 1


# ------------------------------------------------------------------ Parquet


@pytest.fixture
def arrow():
    pytest.importorskip("pyarrow.parquet")
    return pytest.importorskip("pyarrow")


@pytest.fixture
def parquet(arrow, tmp_path):
    import datetime as dt
    import decimal

    utc = dt.datetime(2020, 1, 2, 3, 4, 5, 250000)
    table = arrow.table(
        {
            "whole": arrow.array([1, 2, 2**62 + 1], arrow.int64()),
            "small": arrow.array([1, 2, 3], arrow.uint8()),
            "gaps": arrow.array([1, None, 3], arrow.int32()),
            "huge": arrow.array([1, 2, 2**64 - 1], arrow.uint64()),
            "real": arrow.array([1.5, None, float("nan")], arrow.float32()),
            "money": arrow.array([decimal.Decimal("1.25"), None, decimal.Decimal("3.00")], arrow.decimal128(8, 2)),
            "truth": arrow.array([True, None, False]),
            "text": arrow.array(["a", None, ""]),
            "color": arrow.array(["red", "blue", None]).dictionary_encode(),
            "day": arrow.array([dt.date(1970, 1, 2), None, dt.date(1969, 12, 31)]),
            "time": arrow.array([utc, None, utc], arrow.timestamp("us")),
            "zoned": arrow.array([utc, None, utc], arrow.timestamp("us", "Europe/Berlin")),
            'odd " name': arrow.array([1, 2, 3]),
        }
    )
    path = tmp_path / "it's.parquet"
    arrow.parquet.write_table(table, path, row_group_size=2)
    return path


MOMENT = datetime.datetime(2020, 1, 2, 3, 4, 5, 250_000)
PARQUET = {
    "whole": ("int64", [1, 2, 2**62 + 1]),
    "small": ("int64", [1, 2, 3]),
    "gaps": ("float64", [1.0, "nan", 3.0]),
    "huge": ("object", [1, 2, 2**64 - 1]),
    "real": ("float64", [1.5, "nan", "nan"]),
    "money": ("float64", [1.25, "nan", 3.0]),
    "truth": ("object", [True, None, False]),
    "text": ("object", ["a", None, ""]),
    "color": ("object", ["red", "blue", None]),
    "day": ("datetime64[us]", [datetime.datetime(1970, 1, 2), None, datetime.datetime(1969, 12, 31)]),
    "time": ("datetime64[us]", [MOMENT, None, MOMENT]),
    "zoned": ("datetime64[us]", [MOMENT, None, MOMENT]),
    'odd " name': ("int64", [1, 2, 3]),
}


def test_parquet_keeps_types_and_missing_values(parquet):
    frame = read(parquet)
    assert {name: (str(column.dtype), plain(column)) for name, column in frame.items()} == PARQUET


def test_parquet_in_pieces_keeps_the_types_of_the_whole(parquet):
    pieces = list(read_pieces(parquet, rows=2))
    assert [len(piece["whole"]) for piece in pieces] == [2, 1]
    same({name: np.concatenate([piece[name] for piece in pieces]) for name in PARQUET}, read(parquet))


def test_parquet_files_are_read_together_and_renamed(arrow, tmp_path):
    for number, cells in enumerate(([1, 2], [3, None])):
        arrow.parquet.write_table(
            arrow.table({"a": arrow.array(cells, arrow.int64())}), tmp_path / f"{number}.parquet"
        )
    (piece,) = read_pieces(str(tmp_path / "*.parquet"), names=["n"])
    assert plain(piece["n"]) == [1.0, 2.0, 3.0, "nan"]
    assert piece["n"].dtype == np.float64


def test_parquet_without_rows_and_with_nested_columns(arrow, tmp_path):
    path = tmp_path / "t.parquet"
    arrow.parquet.write_table(
        arrow.table({"a": arrow.array([], arrow.int64()), "b": arrow.array([], arrow.string())}), path
    )
    assert {name: len(column) for name, column in read(path).items()} == {"a": 0, "b": 0}
    arrow.parquet.write_table(arrow.table({"a": [1], "list": [[1, 2]]}), path)
    with pytest.raises(ReadError, match=r"Column 'list' of 't\.parquet' has the type"):
        read(path)


def test_a_broken_parquet_file_is_refused(write, parquet):
    for content in (b"", b"PAR1 nothing", parquet.read_bytes()[:-30]):
        with pytest.raises(ReadError, match="cannot be read as Parquet"):
            read(write(content, "t.parquet"))


def test_parquet_without_pyarrow_says_what_to_install(parquet, monkeypatch):
    for name in ("pyarrow", "pyarrow.parquet"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ReadError, match=re.escape("pip install 'countwise[data]'")):
        read(parquet)


def test_parquet_declares_its_categories(arrow, tmp_path):
    pandas = pytest.importorskip("pandas")
    path = tmp_path / "t.parquet"
    sizes = pandas.Categorical(["small", None, "large"], categories=["small", "medium", "large"], ordered=True)
    pandas.DataFrame({"size": sizes, "x": [1, 2, 3], "k": pandas.Categorical(["b", "a", "b"])}).to_parquet(path)
    hints = attribute_hints(path)
    assert hints["k"] == ("nominal", ("a", "b"))
    assert hints["size"] == ("ordinal", ("small", "medium", "large"))
    assert "x" not in hints


def test_a_csv_file_declares_nothing(write):
    assert attribute_hints(write("a\n1\n")) == {}


# ------------------------------------------------------------------ cost


def test_reading_text_imports_no_table_library(write):
    path = write("a,b\n1,x\n")
    code = (
        "import sys; from countwise.io.readers import read; read(sys.argv[1]);"
        "print(sorted({'pandas', 'polars', 'pyarrow', 'duckdb'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_column_of_all_different_texts_is_not_kept_in_memory(write):
    from countwise.io import csv_types

    column = csv_types.CsvColumn(frozenset())
    column.look(["x"])
    for start in range(0, 3 * csv_types.MEMO_LIMIT, 50_000):
        column.convert([f"text {i}" for i in range(start, start + 50_000)])
    assert len(column.memo) <= csv_types.MEMO_LIMIT + 50_000
