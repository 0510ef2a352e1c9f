"""A row of a file is the same row in a file of its own, if it is read by the schema of the model."""

from __future__ import annotations

import csv
import warnings

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from countwise import NaiveBayesClassifier, read
from countwise.data.schema import field_types
from countwise.errors import DataWarning
from countwise.io.readers import read_pieces

from .strategies import examples

CELLS = st.sampled_from(
    ["", "?", "1", "2", "12", "-3", "1.5", "1e3", " 4 ", "007", "true", "false", "True", "x", "A1", "ü", "2020-01-01",
     "9007199254740993", "n/a", "1,5"]
)  # fmt: skip
COLUMNS = st.one_of(
    st.lists(CELLS, min_size=8, max_size=8),
    *(st.lists(st.sampled_from(few), min_size=8, max_size=8) for few in (["1", "2", ""], ["true", "false", ""])),
)


def written(path, header, rows):
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows([header, *rows])
    return path


@settings(examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(columns=st.lists(COLUMNS, min_size=1, max_size=3), nominal=st.booleans())
def test_a_row_that_is_read_alone_by_the_schema_gets_the_prediction_that_it_gets_in_its_file(
    tmp_path, columns, nominal
):
    names = [f"c{i}" for i in range(len(columns))]
    rows = [list(row) for row in zip(*columns, strict=True)]
    labels = list("pqpqppqq")
    path = written(tmp_path / "train.csv", [*names, "y"], [[*r, y] for r, y in zip(rows, labels, strict=True)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        whole = read(path)
        model = NaiveBayesClassifier(types={"c0": "nominal"} if nominal else None).fit(whole, "y")
        wanted = model.predict_proba(whole)
        for i, row in enumerate(rows):
            (alone,) = read_pieces(written(tmp_path / "one.csv", names, [row]), types=field_types(model.schema_))
            np.testing.assert_array_equal(model.predict_proba(alone)[0], wanted[i], err_msg=str(row))
