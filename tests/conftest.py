"""What all tests share."""

from __future__ import annotations

import csv
import gc
import os
from collections.abc import Iterator
from typing import Any

import pytest

# Before NumPy is imported: its products of matrices are small here, and threads that wait for each other would take
# the processors from the tests next to them. How many threads Countwise itself uses is not touched.
for _setting in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_setting, "1")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """What makes up the tests stays to the end: it is not looked through for cycles again and again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_unconfigure() -> None:
    gc.unfreeze()


@pytest.fixture(autouse=True)
def _own_csv_limit() -> Iterator[None]:
    """SciPy's ARFF reader raises the csv module's limit for the whole process; no test may lean on that."""
    limit = csv.field_size_limit()
    yield
    csv.field_size_limit(limit)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """The tests of a file stay with one worker, and all of Spark's: one Java machine is enough."""
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            spark = nodeid.startswith("tests/engines/") and "[spark" in nodeid
            return "spark" if spark else str(super()._split_scope(nodeid))

    return ByFile(config, log) if config.getoption("dist") == "loadscope" else None
