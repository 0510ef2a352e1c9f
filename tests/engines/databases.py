"""Databases that run a query over a table of Arrow's: DuckDB, SQLite, Spark, and a PostgreSQL of our own."""

from __future__ import annotations

import contextlib
import csv
import datetime
import decimal
import getpass
import io
import json
import os
import pwd
import shutil
import sqlite3
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

NAMES = ("duckdb", "sqlite", "postgres", "spark")
ZONE = "America/New_York"  # of the session; it must not matter
_TYPES = {
    pa.string(): "TEXT", pa.int64(): "BIGINT", pa.bool_(): "BOOLEAN", pa.float64(): "DOUBLE PRECISION",
    pa.date32(): "DATE", pa.timestamp("us"): "TIMESTAMP", pa.timestamp("us", "UTC"): "TIMESTAMP WITH TIME ZONE",
    pa.decimal128(12, 2): "NUMERIC",
}  # fmt: skip


def _named(names: list[str], rows: Any) -> list[dict[str, Any]]:
    """The rows of an answer by name, in order; of two columns of a name, the last."""
    return sorted((dict(zip(names, row, strict=True)) for row in rows), key=lambda row: row["no"])


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


class DuckDB:
    dialect = "duckdb"

    def rows(self, table: pa.Table, name: str, query: str) -> list[dict[str, Any]]:
        duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
        with duckdb.connect() as base, tempfile.TemporaryDirectory() as folder:
            with contextlib.suppress(duckdb.Error):  # without its extension for time zones, they do not exist
                base.execute(f"SET TimeZone = '{ZONE}'")
            pq.write_table(table, f"{folder}/t.parquet")  # with the statistics in which NaN does not show
            base.execute(f"CREATE VIEW {quoted(name)} AS SELECT * FROM '{folder}/t.parquet'")
            found = base.sql(query)  # as rows, times with a time zone would need another package
            cells = (column.to_pylist() for column in found.to_arrow_table().columns)
            return _named(found.columns, zip(*cells, strict=True))


class SQLite:
    dialect = "sqlite"

    def rows(self, table: pa.Table, name: str, query: str) -> list[dict[str, Any]]:
        base = sqlite3.connect(":memory:")
        try:
            columns = ", ".join(f"{quoted(f.name)} {_TYPES[f.type]}" for f in table.schema)
            base.execute(f"CREATE TABLE {quoted(name)} ({columns})")
            marks = ", ".join("?" * len(table.schema))
            cells = [[_plain(v) for v in row.values()] for row in table.to_pylist()]
            base.executemany(f"INSERT INTO {quoted(name)} VALUES ({marks})", cells)
            found = base.execute(query)
            return _named([column[0] for column in found.description], found.fetchall())
        finally:
            base.close()


def _plain(value: Any) -> Any:
    """A cell as SQLite keeps it: dates and decimals as text."""
    if isinstance(value, decimal.Decimal):
        return str(value)
    if isinstance(value, datetime.datetime):
        return str(value)
    return value.isoformat() if isinstance(value, datetime.date) else value


class Spark:
    dialect = "spark"

    def __init__(self, session: Any) -> None:
        self.session = session

    def rows(self, table: pa.Table, name: str, query: str) -> list[dict[str, Any]]:
        with tempfile.TemporaryDirectory() as folder:
            pq.write_table(table, f"{folder}/t.parquet")
            self.session.read.parquet(f"{folder}/t.parquet").createOrReplaceTempView(f"`{name}`")
            self.session.conf.set("spark.sql.session.timeZone", ZONE)
            try:
                return [row.asDict() for row in self.session.sql(query).orderBy("no").collect()]
            finally:
                self.session.conf.unset("spark.sql.session.timeZone")


class Postgres:
    """A cluster of its own in a folder of its own, without a port."""

    dialect = "postgres"

    def __init__(self, bin_: Path) -> None:
        self.bin = bin_
        self.folder = Path(tempfile.mkdtemp(prefix="cwpg"))
        self.user = getpass.getuser()
        self.prefix: list[str] = []
        if os.geteuid() == 0:
            self.user, self.prefix = "postgres", ["runuser", "-u", "postgres", "--"]
            shutil.chown(self.folder, "postgres")
        self._run("initdb", "-D", f"{self.folder}/data", "-A", "trust", "-U", "postgres", "-E", "UTF8", "--no-sync")
        options = f"-k {self.folder} -c listen_addresses= -c fsync=off -c timezone={ZONE}"
        self._run("pg_ctl", "-D", f"{self.folder}/data", "-w", "-l", f"{self.folder}/log", "-o", options, "start")

    def _run(self, program: str, *arguments: str, given: str | None = None) -> str:
        done = subprocess.run(
            [*self.prefix, str(self.bin / program), *arguments], input=given, capture_output=True, text=True, cwd="/",
            check=False, encoding="utf-8",
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError(f"{program}: {done.stderr[-2000:]}")
        return done.stdout

    def _psql(self, script: str) -> str:
        return self._run("psql", "-h", str(self.folder), "-U", "postgres", "-d", "postgres", "-XAtq", "-v",
                         "ON_ERROR_STOP=1", "-f", "-", given=script)  # fmt: skip

    def rows(self, table: pa.Table, name: str, query: str) -> list[dict[str, Any]]:
        columns = ", ".join(f"{quoted(f.name)} {_TYPES[f.type]}" for f in table.schema)
        out = io.StringIO()
        writer = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n")
        for row in table.to_pylist():
            writer.writerow(["\\N" if v is None else v for v in row.values()])
        cells = out.getvalue().replace('"\\N"', "\\N")  # in quotes it would be a text
        found = self._psql(
            f"DROP TABLE IF EXISTS {quoted(name)};\nCREATE TABLE {quoted(name)} ({columns});\n"
            f"COPY {quoted(name)} FROM STDIN WITH (FORMAT csv, NULL '\\N');\n{cells}\\.\n"
            f"SELECT row_to_json(cw_q) FROM ({query}) AS cw_q ORDER BY no;\n"
        )
        return [json.loads(line) for line in found.split("\n") if line]

    def stop(self) -> None:
        self._run("pg_ctl", "-D", f"{self.folder}/data", "-m", "immediate", "stop")
        shutil.rmtree(self.folder, ignore_errors=True)


def open_postgres() -> Postgres:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    path = shutil.which("initdb")
    if not found and path is None:
        pytest.skip("PostgreSQL is not installed")
    if os.geteuid() == 0:
        try:
            pwd.getpwnam("postgres")
        except KeyError:
            pytest.skip("PostgreSQL does not run as root, and there is no user postgres")
    return Postgres(found[-1].parent if found else Path(str(path)).parent)
