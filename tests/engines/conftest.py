"""Engines that hold a table: each test runs on every one that can be had; others are skipped by name."""

from __future__ import annotations

import itertools
import shutil
import warnings
from collections.abc import Callable
from typing import Any

import pytest

_NUMBERS = itertools.count()
ENGINES = ("duckdb", "polars", "dask", "ibis", "spark")


def _collected(frame: Any) -> Any:
    """A relation's rows as a pandas frame."""
    import narwhals.stable.v2 as nw

    return nw.from_native(frame).lazy().collect().to_pandas()


class Engine:
    """How an engine opens a table, and hands out rows."""

    def __init__(self, name: str, open_parquet: Callable[[Any], Any]) -> None:
        self.name, self._open = name, open_parquet

    def of(self, frame: Any, folder: Any) -> Any:
        """A pandas frame as a relation of this engine, by way of a Parquet file."""
        path = folder / f"{self.name} {next(_NUMBERS)}.parquet"
        frame.to_parquet(path)
        return self._open(str(path))

    def from_arrow(self, table: Any, folder: Any) -> Any:
        """A table of Arrow's as a relation of this engine: NaN stays NaN, and a gap a gap."""
        import pyarrow.parquet

        path = folder / f"{self.name}-arrow.parquet"
        pyarrow.parquet.write_table(table, path)
        return self._open(str(path))

    collected = staticmethod(_collected)


@pytest.fixture(scope="session")
def spark():
    pytest.importorskip("pyspark", reason="PySpark is not installed")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java, which is not installed")
    from pyspark.sql import SparkSession

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session = (
            SparkSession.builder.master("local[2]")
            .config("spark.ui.enabled", "false")
            .config("spark.sql.shuffle.partitions", "1")
            .config("spark.sql.adaptive.enabled", "false")  # it plans again at every shuffle
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.driver.bindAddress", "127.0.0.1")
            # for short plans the second compiler and a small nursery take more than they give
            .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xmn256m")
            .getOrCreate()
        )
        session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


def _open_duckdb() -> Callable[[str], Any]:
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
    return duckdb.connect().read_parquet


def _open_polars() -> Callable[[str], Any]:
    return pytest.importorskip("polars", reason="Polars is not installed").scan_parquet


def _open_dask() -> Callable[[str], Any]:
    frames = pytest.importorskip("dask.dataframe", reason="Dask is not installed")
    import dask

    dask.config.set(scheduler="synchronous")  # tables this small are answered sooner than threads are woken
    return frames.read_parquet


def _open_ibis() -> Callable[[str], Any]:
    ibis = pytest.importorskip("ibis", reason="Ibis is not installed")
    return ibis.duckdb.connect().read_parquet


@pytest.fixture(params=ENGINES)
def engine(request):
    if request.param == "spark":
        return Engine("spark", request.getfixturevalue("spark").read.parquet)
    return Engine(request.param, globals()[f"_open_{request.param}"]())


@pytest.fixture(params=("duckdb", "polars"))
def quick_engine(request):
    """Those that do not take seconds for each plan, for what is the same in all."""
    return Engine(request.param, globals()[f"_open_{request.param}"]())


@pytest.fixture(scope="session")
def postgres():
    from .databases import open_postgres

    base = open_postgres()
    yield base
    base.stop()


@pytest.fixture(params=("duckdb", "sqlite", "postgres"))
def quick_database(request):
    """Those that do not take seconds for each query, for what is the same in all."""
    return _database(request)


@pytest.fixture(params=("duckdb", "sqlite", "postgres", "spark"))
def database(request):
    return _database(request)


def _database(request):
    from .databases import DuckDB, Spark, SQLite

    if request.param == "postgres":
        return request.getfixturevalue("postgres")
    if request.param == "spark":
        return Spark(request.getfixturevalue("spark"))
    return DuckDB() if request.param == "duckdb" else SQLite()
