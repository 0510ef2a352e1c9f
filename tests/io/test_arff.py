"""The ARFF reader: declarations, dense and sparse rows, weights, dates, and what it refuses."""

from __future__ import annotations

import calendar
import datetime
import gzip
import io
import math
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.io import arff as scipy_arff

import countwise.samples
from countwise.errors import ReadError
from countwise.io.arff import hints, pieces
from countwise.io.readers import attribute_hints, read, read_pieces

SAMPLES = Path(countwise.samples.__file__).parent
DATA = Path(__file__).parents[1] / "data"


@pytest.fixture
def write(tmp_path):
    def writer(text: str | bytes, name: str = "t.arff") -> Path:
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return writer


def cells(text: str, rows: int = 1000):
    """The columns of one piece, as lists in which NaN is 'nan'."""
    (piece,) = pieces(io.StringIO(text), "t.arff", rows)
    return {
        name: ["nan" if isinstance(v, float) and math.isnan(v) else v for v in column.tolist()]
        for name, column in piece.columns.items()
    }


def one(kind: str, *rows: str):
    return cells(f"@relation r\n@attribute a {kind}\n@data\n" + "\n".join(rows))["a"]


# ------------------------------------------------------------------ declarations


def test_keywords_may_be_in_any_case_and_types_have_several_names():
    text = "@RELATION r;@Attribute a REAL;@attribute b Integer;@ATTRIBUTE c NUMERIC;@attribute d String;@DATA"
    assert hints(text.split(";"), "t") == {
        "a": ("numeric", None),
        "b": ("numeric", None),
        "c": ("numeric", None),
        "d": ("text", None),
    }


def test_names_and_values_may_be_quoted_with_either_quote():
    text = (
        "@relation 'my relation'\n"
        "@attribute 'wind speed' numeric\n"
        "@attribute \"the 'best' one\" {yes, 'not yet', \"so, so\", 'it\\'s'}\n"
        "@attribute plain{a,b}\n"
        "@attribute\ttabbed\t{x y}\n@data\n"
    )
    assert hints(io.StringIO(text), "t") == {
        "wind speed": ("numeric", None),
        "the 'best' one": ("nominal", ("yes", "not yet", "so, so", "it's")),
        "plain": ("nominal", ("a", "b")),
        "tabbed": ("nominal", ("x", "y")),
    }


def test_comments_are_skipped_but_not_within_quotes_or_words():
    text = "% one\n@relation r % two\n@attribute a {'50%', 60%, x} % three\n\n"
    text += "@data\n%four\n'50%' % five\n60%\nx%\n"
    with pytest.raises(ReadError, match=r"Line 9 .*'a' is 'x%'"):
        cells(text)
    assert cells(text.replace("x%\n", "x\n"))["a"] == ["50%", "60%", "x"]


def test_a_range_after_a_numeric_type_is_allowed():
    assert hints(["@attribute a real [0.1, 2.5]", "@data"], "t") == {"a": ("numeric", None)}


# ------------------------------------------------------------------ rows


def test_escapes_are_resolved_within_quotes_only():
    rows = [r"'a\'b'", r'"a\"b"', r"'a\\b'", r"'a\tb'", r"'a\nb'", r"'5\%'", r"a\tb", "it's", "''"]
    assert one("string", *rows) == ["a'b", 'a"b', "a\\b", "a\tb", "a\nb", "5%", r"a\tb", "it's", ""]


def test_a_quoted_question_mark_is_a_value_and_a_bare_one_is_missing():
    assert one("string", "?", "'?'", " ? ") == [None, "?", None]
    assert one("numeric", "?", "1") == ["nan", 1.0]
    assert one("{a, '?'}", "?", "'?'", "a") == [None, "?", "a"]


def test_values_hold_spaces_and_commas_and_may_be_separated_by_white_space():
    head = "@relation r\n@attribute a string\n@attribute b string\n@attribute c numeric\n@data\n"
    rows = "'New York, NY', x y ,1\nu\tv\t2\n'p q'   'r'  3\n"
    assert cells(head + rows) == {
        "a": ["New York, NY", "u", "p q"],
        "b": ["x y", "v", "r"],
        "c": [1.0, 2.0, 3.0],
    }


def test_an_apostrophe_within_a_word_quotes_nothing():
    head = "@attribute a string\n@attribute b string\n@data\n"
    rows = "it's, don't\n{0 it's, 1 don't}\n{0 'a}b', 1 c}\nit's 'x y' % it's\n"
    assert cells(head + rows) == {"a": ["it's", "it's", "a}b", "it's"], "b": ["don't", "don't", "c", "x y"]}


def test_a_single_attribute_takes_the_whole_line():
    assert one("string", "New York", "'x'") == ["New York", "x"]


def test_numbers_are_decimal_and_may_be_infinite():
    assert one("numeric", "007", "-1.5e3", ".5", "inf", "+2") == [7.0, -1500.0, 0.5, math.inf, 2.0]
    for bad in ("1_000", "0x10", "١٢", "one", "'1 '"):
        with pytest.raises(ReadError, match="which is not a number"):
            one("numeric", bad)


def test_sparse_rows_leave_out_zeros_and_first_values():
    head = "@attribute x numeric\n@attribute c {no, yes}\n@attribute s string\n@attribute y numeric\n@data\n"
    rows = "{0 1, 2 'a, b', 3 5}\n{}\n{ 1 yes , 3 ? }\n{3 2,0 7}\n1,yes,z,?\n"
    assert cells(head + rows) == {
        "x": [1.0, 0.0, 0.0, 7.0, 1.0],
        "c": ["no", "no", "yes", "no", "yes"],
        "s": ["a, b", "", "", "", "z"],
        "y": [5.0, 0.0, "nan", 2.0, "nan"],
    }


def test_weights_become_a_column_only_if_there_are_any(write):
    head = "@relation r\n@attribute x numeric\n@attribute c {a, '}'}\n@data\n"
    path = write(head + "1,a,{5}\n{0 2},{0.5}\n3,'}'\n4, a {2} % note\n{1 '}'} {3}\n")
    frame = read(path)
    assert list(frame) == ["x", "c", "weight"]
    assert frame["weight"].tolist() == [5.0, 0.5, 1.0, 2.0, 3.0]
    assert frame["x"].tolist() == [1.0, 2.0, 3.0, 4.0, 0.0]
    assert frame["c"].tolist() == ["a", "a", "}", "a", "}"]
    assert list(read(path, weight_column="w")) == ["x", "c", "w"]
    assert all("weight" in piece for piece in read_pieces(path, rows=1))
    assert list(read(write(head + "1,a\n"))) == ["x", "c"]


def test_a_weight_column_must_not_hide_an_attribute(write):
    path = write("@relation r\n@attribute weight numeric\n@data\n1,{5}\n")
    with pytest.raises(
        ReadError, match=r"instance weights.* 'weight', is also the name of an attribute.*weight_column"
    ):
        read(path)


# ------------------------------------------------------------------ dates


@pytest.mark.parametrize(
    ("declared", "written", "moment"),
    [
        ("", "2001-04-03T12:13:14", (2001, 4, 3, 12, 13, 14)),
        ('"yyyy-MM-dd HH:mm:ss"', '"2001-04-03 12:13:14"', (2001, 4, 3, 12, 13, 14)),
        ("'dd.MM.yyyy'", "3.4.2001", (2001, 4, 3, 0, 0, 0)),
        ("yyyyMMdd", "20010403", (2001, 4, 3, 0, 0, 0)),
        ("yyyyMMddHHmm", "200104031213", (2001, 4, 3, 12, 13, 0)),
        ("\"d MMM yyyy, h 'o''clock' a\"", "'3 Apr 2001, 12 o\\'clock AM'", (2001, 4, 3, 0, 0, 0)),
        ('"EEE, dd MMMM yyyy hh:mm a"', "'Tue, 03 April 2001 12:13 pm'", (2001, 4, 3, 12, 13, 0)),
        ("\"yyyy-MM-dd'T'HH:mm:ssX\"", "2001-04-03T12:13:14+02:00", (2001, 4, 3, 10, 13, 14)),
        ("\"yyyy-MM-dd'T'HH:mm:ssZ\"", "2001-04-03T12:13:14-0130", (2001, 4, 3, 13, 43, 14)),
        ('"yyyy-MM-dd HH:mm z"', "'2001-04-03 12:13 GMT'", (2001, 4, 3, 12, 13, 0)),
        ("dd/MM/yy", "03/04/01", (2001, 4, 3, 0, 0, 0)),
        ("dd/MM/yy", "03/04/71", (1971, 4, 3, 0, 0, 0)),
        ("yyyy-MM-dd", "1969-12-31", (1969, 12, 31, 0, 0, 0)),
        ("yyyy-MM-dd", "2000-02-29", (2000, 2, 29, 0, 0, 0)),
    ],
)
def test_dates_are_seconds_since_1970(declared, written, moment):
    found = one(f"date {declared}", written, "?")
    assert (found[0] - datetime.datetime(1970, 1, 1)).total_seconds() == calendar.timegm(moment)
    assert found[1] is None


def test_milliseconds_are_fractions_of_a_second():
    assert one('date "ss.SSS"', "01.250") == [datetime.datetime(1970, 1, 1, 0, 0, 1, 250_000)]


@pytest.mark.parametrize("bad", ["2001-02-30", "2001-13-01", "2001-1-1x", "x", "2001-04-03T00:00:00"])
def test_a_date_that_does_not_exist_or_fit_is_refused(bad):
    with pytest.raises(ReadError, match="which is not a date in the format 'yyyy-MM-dd'"):
        one("date yyyy-MM-dd", bad)


# ------------------------------------------------------------------ errors

HEAD = "@relation r\n@attribute outlook {sunny, overcast, rainy}\n@attribute t numeric\n@data\n"
BAD = {
    "outside the domain": (
        HEAD + "sunny,1\nsuny,2\n",
        r"Line 6 .*'outlook' is 'suny', which is not one of the declared values 's",
    ),
    "near the domain": (HEAD + "suny,2\n", r"'overcast', 'rainy'\. Hint: did you mean 'sunny'\?"),
    "another case": (HEAD + "Sunny,1\n", r"'outlook' is 'Sunny'.*did you mean 'sunny'"),
    "outside in a sparse row": (HEAD + "\n{1 2}\n{0 foggy}\n", r"Line 7 .*'foggy'"),
    "not a number": (HEAD + "sunny,warm\n", r"Line 5 .*'t' is 'warm', which is not a number"),
    "too few values": (HEAD + "sunny\n", r"Line 5 .*1 value, but 2"),
    "too many values": (HEAD + "sunny,1,2\n", r"Line 5 .*3 values, but 2"),
    "empty value": (HEAD + "sunny,''\n", r"'t' is '', which is not a number"),
    "nothing between plain commas": (HEAD + "sunny,,1\n", r"Line 5 .*a value is empty"),
    "plain comma at the end": (HEAD + "sunny,1,\n", r"Line 5 .*ends with a comma"),
    "nothing between commas": (HEAD + "'sunny',\n", r"Line 5 .*comma"),
    "open quote": (HEAD + "'sunny,1\n", r"Line 5 .*quotation mark is not closed"),
    "text after a quote": (HEAD + "'sunny'x,1\n", r"Line 5 .*quotation mark.*text follows"),
    "open sparse row": (HEAD + "{0 sunny\n", r"Line 5 .*closing brace"),
    "sparse index too large": (HEAD + "{2 1}\n", r"'2 1' is not an index from 0 to 1"),
    "sparse index twice": (HEAD + "{1 1, 1 2}\n", r"index 1 occurs twice"),
    "sparse without value": (HEAD + "{1}\n", r"Line 5 .*'1' is not an index"),
    "negative weight": (HEAD + "sunny,1,{-2}\n", r"weight '-2' is not a number >= 0"),
    "weight in words": (HEAD + "sunny,1,{two}\n", r"weight 'two' is not a number >= 0"),
    "no data line": ("@relation r\n@attribute a numeric\n", r"no @data"),
    "no attributes": ("@relation r\n@data\n1\n", r"Line 2 .*no attribute"),
    "empty file": ("", r"no @data"),
    "not ARFF": ("a,b\n1,2\n", r"Line 1 .*'a,b' is not one of the declarations"),
    "misspelt keyword": ("@atribute a numeric\n@data\n", r"'@atribute'.*did you mean '@attribute'"),
    "unknown type": ("@attribute a nummeric\n@data\n", r"'a' has the unknown type 'nummeric'.*'numeric'"),
    "no type": ("@attribute a\n@data\n", r"unknown type ''"),
    "no name": ("@attribute\n@data\n", r"has no name or no type"),
    "relational": ("@attribute bag relational\n@end bag\n@data\n", r"'bag' is relational"),
    "twice declared": ("@attribute a real\n@attribute a real\n@data\n", r"Line 2 .*'a' is declared twice"),
    "value twice": ("@attribute a {x, y, x}\n@data\n", r"'a' declares the value 'x' twice"),
    "open domain": ("@attribute a {x, y\n@data\n", r"has no closing brace"),
    "unknown date part": ("@attribute a date 'yyyy-ww'\n@data\n", r"unknown field 'ww'"),
    "date part twice": ("@attribute a date 'yyyy yyyy'\n@data\n", r"two fields for the year"),
    "bad byte": (HEAD.encode() + b"sunny,1\n\xff\n", r"byte \d+ \(0xff\) in line 6"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_a_bad_file_is_refused_with_its_place_and_a_hint(write, case):
    text, pattern = BAD[case]
    with pytest.raises(ReadError, match=re.compile(pattern, re.DOTALL)) as caught:
        read(write(text))
    assert caught.value.hint
    with pytest.raises(ReadError):
        list(read_pieces(write(text), rows=1))


# ------------------------------------------------------------------ files


def test_a_file_without_rows_has_columns(write):
    frame = read(write(HEAD))
    assert {name: len(column) for name, column in frame.items()} == {"outlook": 0, "t": 0}


def test_gzip_windows_lines_and_a_mark_will_do(write):
    text = ("\ufeff" + HEAD + "sunny,1\n").replace("\n", "\r\n")
    assert read(write(gzip.compress(text.encode()), "t.arff.gz"))["t"].tolist() == [1.0]


def test_files_are_read_together_if_their_attributes_agree(write, tmp_path):
    write("@relation r\n@attribute a {x}\n@attribute n real\n@data\nx,1\n", "1.arff")
    write("@relation r\n@attribute n real\n@attribute a {x,y}\n@data\n2,y,{3}\n", "2.arff")
    (piece,) = read_pieces(str(tmp_path / "?.arff"), names=["k", "v"])
    assert piece["k"].tolist() == ["x", "y"]
    assert piece["v"].tolist() == [1.0, 2.0]
    assert piece["weight"].tolist() == [1.0, 3.0]
    write("@relation r\n@attribute n string\n@attribute a {x,y}\n@data\n", "2.arff")
    with pytest.raises(ReadError, match=r"'n' is numeric in '1.arff', but text in '2.arff'"):
        list(read_pieces(str(tmp_path / "?.arff")))


@pytest.mark.parametrize(
    "path",
    [SAMPLES / "weather.numeric.arff", SAMPLES / "weather.nominal.arff", DATA / "contact-lenses.arff"],
    ids=lambda path: path.name,
)
def test_textbook_files_are_read_as_scipy_reads_them(path):
    data, meta = scipy_arff.loadarff(path)
    frame = read(path)
    declared = attribute_hints(path)
    assert list(frame) == meta.names()
    for column in meta.names():
        kind, values = meta[column]
        assert declared[column] == (kind, values)
        theirs = data[column].tolist()
        assert frame[column].tolist() == ([v.decode() for v in theirs] if kind == "nominal" else theirs)


NUMBERS = st.floats(allow_nan=False, allow_infinity=False) | st.none()
COLORS = st.sampled_from(["red", "green", "blue"]) | st.none()


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(table=st.lists(st.tuples(NUMBERS, COLORS, NUMBERS), min_size=1, max_size=10), rows=st.integers(1, 4))
def test_generated_files_are_read_as_scipy_reads_them(tmp_path, table, rows):
    path = tmp_path / "law.arff"
    head = "@relation r\n@attribute x numeric\n@attribute c {red, green, blue}\n@attribute y real\n@data\n"
    path.write_text(head + "".join(",".join("?" if v is None else str(v) for v in row) + "\n" for row in table))
    data, _ = scipy_arff.loadarff(path)
    frame = read(path)
    np.testing.assert_array_equal(frame["x"], data["x"])
    np.testing.assert_array_equal(frame["y"], data["y"])
    assert [value or "?" for value in frame["c"]] == [value.decode() for value in data["c"]]
    parts = list(read_pieces(path, rows=rows))
    for name in frame:
        np.testing.assert_array_equal(np.concatenate([part[name] for part in parts]), frame[name])


TEXTS = st.text(st.characters(exclude_characters="\0\r", exclude_categories=["Cs"]), max_size=8)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(table=st.lists(st.tuples(TEXTS | st.none(), TEXTS), max_size=6), quote=st.sampled_from("'\""))
def test_any_text_survives_quoting(tmp_path, table, quote):
    def quoted(text):
        if text is None:
            return "?"
        return quote + re.sub(r"([\\'\"%])", r"\\\1", text).replace("\n", "\\n").replace("\t", "\\t") + quote

    path = tmp_path / "law.arff"
    lines = ["@relation r", "@attribute a string", "@attribute b string", "@data"]
    lines += [", ".join(map(quoted, row)) for row in table]
    path.write_text("\n".join(lines), encoding="utf-8", newline="")
    frame = read(path)
    assert list(zip(frame["a"], frame["b"], strict=True)) == table
