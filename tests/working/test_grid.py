"""Tables as text: numbers line up, wide characters take two places, long texts are wrapped to the terminal."""

from __future__ import annotations

from rich.cells import cell_len

from countwise.working import Formula, Grid, Section
from countwise.working.numbers import Worked


def test_numbers_are_aligned_at_the_decimal_point():
    grid = Grid({"d": [0.5, 13.25, 7, None, 1e-7], "share": ["66.7 %", "3 %", "100 %", "undefined", ""]})
    assert str(grid).splitlines() == [
        "    d      share",
        " 0.5      66.7 %",
        "13.25      3 %",
        " 7       100 %",
        "       undefined",
        " 1e-7",
    ]


def test_a_column_with_a_text_in_it_stays_at_the_left():
    assert str(Grid({"value": ["10", "many"], "n": [1, 20]})).splitlines() == ["value   n", "10      1", "many   20"]


def test_wide_characters_take_two_places():
    lines = str(Grid({"city": ["東京", "Rome"], "n": [1, 2]})).splitlines()
    assert lines == ["city  n", "東京  1", "Rome  2"]
    assert len({cell_len(line) for line in lines}) == 1


def test_texts_are_wrapped_and_numbers_are_not():
    grid = Grid({"n": [12345.5, 2.0], "text": ["several words that need more than one line", "few"]})
    lines = grid.text(30).splitlines()
    assert max(map(cell_len, lines)) <= 30
    assert lines[1].startswith("12345.5  several words")
    assert " ".join(" ".join(lines[1:-1]).split()) == "12345.5 several words that need more than one line"
    assert grid.text(200) == grid.text() == str(grid)


def test_a_table_that_cannot_be_wrapped_to_the_width_is_divided_and_repeats_its_first_column():
    grid = Grid({f"column {j}": [1000000 + j] for j in range(9)})
    tables = grid.text(40).split("\n\n")
    assert [table.split("\n")[0] for table in tables] == [
        f"column 0  column {j}  column {j + 1}  column {j + 2}" if j < 7 else f"column 0  column {j}  column {j + 1}"
        for j in (1, 4, 7)
    ]
    assert all(table.split("\n")[1].startswith(" 1000000") for table in tables)
    assert Grid({"column": [10**60]}).text(40) == f"{'column':>61}\n{10**60}"


def test_lines_below_a_table_are_broken_at_blanks():
    section = Section("title", Grid({}), ("a sentence that is longer than one line of forty characters",))
    assert section.text(40) == "title\n  a sentence that is longer than one\n      line of forty characters"


def test_a_column_of_computations_is_not_wrapped():
    cells = [Worked(10 / 7, "4·5/14"), Worked(18 / 7, "4·9/14")]
    grid = Grid({"outlook": ["Sunny", "Rain"], "No": cells, "Yes": cells})
    assert grid.text(35).split("\n\n") == [str(Grid({"outlook": grid["outlook"], c: grid[c]})) for c in ("No", "Yes")]


def test_a_formula_is_broken_before_an_operator():
    line = Formula("gain(outlook) = 0.940286 - (5/14)·0.970951 - (4/14)·0 - (5/14)·0.970951 = 0.24675")
    lines = Section("gain", Grid({}), (line,)).text(40).splitlines()
    assert max(map(cell_len, lines)) <= 40
    assert all(part.split()[0] in "-=" for part in lines[2:])
    assert " ".join(" ".join(lines[1:]).split()) == line
    assert Section("gain", Grid({}), (line,)).text().splitlines() == ["gain", f"  {line}"]


def test_a_formula_is_broken_in_its_brackets_only_if_they_are_too_long():
    short, long = Formula("χ² = (2 - 1.7)²/1.7 + (3 - 3.2)²/3.2 = 0.07"), Formula(f"m = (1 + {'2 + ' * 9}3)/11 = 2")
    assert Section("", Grid({}), (short,)).text(24).splitlines()[1:] == [
        "  χ² = (2 - 1.7)²/1.7", "      + (3 - 3.2)²/3.2", "      = 0.07",
    ]  # fmt: skip
    assert max(map(cell_len, Section("", Grid({}), (long,)).text(24).splitlines())) <= 24


def test_an_empty_table_has_its_heads():
    assert str(Grid({"a": [], "b": []})) == "a  b"
    assert str(Grid({})) == ""


def test_a_divided_table_repeats_the_columns_up_to_the_first_one_with_a_name():
    names = {"": ["▶", ""], " ": [1, 2], "attribute": ["outlook", "wind"]}
    grid = Grid(names | {f"number {k}": [k / 7, 2 / 7] for k in range(8)})
    for text in (grid.text(50), *grid.text(30).split("\n\n")):
        for part in text.split("\n\n"):
            assert part.split("\n")[0].split()[0] == "attribute"
            assert part.split("\n")[1].split()[:3] == ["▶", "1", "outlook"]
    unnamed = Grid({"": ["a"] * 2, **{" " * k: [k / 7, 1.5] for k in range(1, 30)}})
    assert all(part.split("\n")[1].startswith("a  ") for part in unnamed.text(40).split("\n\n"))
