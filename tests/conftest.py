"""What all tests share."""

from __future__ import annotations

import csv
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _own_csv_limit() -> Iterator[None]:
    """SciPy's ARFF reader raises the csv module's limit for the whole process; no test may lean on that."""
    limit = csv.field_size_limit()
    yield
    csv.field_size_limit(limit)
