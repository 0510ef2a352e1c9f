"""Training from files larger than memory: which engine reads them, how much it may take, and how it is stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import countwise
from countwise.cli import _engines, train
from countwise.errors import RowsRefused

from .running import ENVIRONMENT, run

pytest.importorskip("duckdb", reason="DuckDB is not installed")


def table(n: int = 600) -> pd.DataFrame:
    """Columns of every kind that Parquet has, with gaps, and a target that lacks in some rows."""
    rng = np.random.default_rng(8)

    def some(values: list, share: float = 0.1) -> list:
        return [None if rng.random() < share else values[i] for i in rng.integers(0, len(values), n)]

    return pd.DataFrame(
        {
            "code": some(["007", "12", "NA", "?", "", "O'Brien\"; DROP", "é", "e\u0301"]),
            "flag": pd.array(some([True, False]), dtype="boolean"),
            "count": rng.integers(0, 9, n),
            "gaps": pd.array(some([1, 2, 3, 2**40]), dtype="Int64"),
            "far": rng.normal(1e9, 1.0, n) + np.where(rng.random(n) < 0.1, np.nan, 0.0),
            "zero": some([0.0, -0.0, 1.5]),
            "day": pd.to_datetime(some(["2024-01-01", "1969-05-05"])),
            "kind": pd.Categorical(some(["lo", "hi"])),
            'select "q"': some(["x", "y"]),
            "w": rng.integers(0, 4, n),
            "y": some(["a", "b", "c"], 0.05),
            "k": pd.array(some([1, 2, 3], 0.05), dtype="Int64"),
        }
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("rows")
    rows = table()
    rows[:250].to_parquet(place / "a.parquet", row_group_size=40)
    rows[250:].to_parquet(place / "b.parquet")
    rows.to_csv(place / "rows.csv", index=False)
    return place


@pytest.mark.filterwarnings("ignore:.*rows were skipped")
@pytest.mark.parametrize(
    "options",
    [
        "-y y --drop k,w",
        "-y k --drop y --weights w",
        "-y y --drop k,w --types count=nominal,day=nominal --distribution far=binned --missing zero",
        "-y y --drop k,w,code,flag,kind --model discriminant --option nominal=onehot",
    ],
)
def test_both_engines_learn_the_same_model(folder, tmp_path, options):
    told = {}
    for engine in ("memory", "duckdb"):
        args = [f"{folder}/*.parquet", *options.split(), "-o", str(tmp_path / f"{engine}.json"), "--engine", engine]
        done = CliRunner().invoke(train.command, args, catch_exceptions=False)
        assert done.exit_code == 0, done.output
        assert ("Trained in memory" if engine == "memory" else "Trained in DuckDB") in done.stderr
        told[engine] = done.stdout.replace(engine, "")
    assert told["memory"] == told["duckdb"]
    one, other = (countwise.load(tmp_path / f"{engine}.json") for engine in told)
    assert one.schema_ == other.schema_
    assert one.target_ == other.target_
    assert (one.n_rows_, one.n_left_out_) == (other.n_rows_, other.n_left_out_)
    for name, tally in one.tallies_.items():
        if hasattr(tally, "table"):
            np.testing.assert_array_equal(tally.table, other.tallies_[name].table)
    X = countwise.read(folder / "a.parquet")
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-12, rtol=0)


@pytest.mark.filterwarnings("ignore:.*rows were skipped")
def test_auto_takes_duckdb_for_large_parquet_and_memory_else(folder, tmp_path, monkeypatch, capsys):
    from countwise.naive_bayes.model import NaiveBayesClassifier
    from countwise.neighbors.rote import RoteClassifier

    files = sorted(folder.glob("*.parquet"))
    asked = (("k", "w"), None, "auto")
    assert "memory, in chunks of at most" in _engines.trained(NaiveBayesClassifier(), files, "y", *asked, None)
    monkeypatch.setattr(_engines, "LARGE", 1)
    assert "DuckDB" in _engines.trained(NaiveBayesClassifier(), files, "y", *asked, None)
    assert "memory limit of 350 MB" in _engines.trained(NaiveBayesClassifier(), files, "y", *asked, 500 * 10**6)
    with monkeypatch.context() as patch:  # of other tests there is more in memory than that
        patch.setattr("countwise.cli._engines._resident", lambda: 10**8)
        assert "memory" in _engines.trained(NaiveBayesClassifier(), files, "y", *asked, 300 * 10**6)
    assert "memory" in _engines.trained(NaiveBayesClassifier(), [folder / "rows.csv"], "y", *asked, None)
    assert capsys.readouterr().err == ""
    model = RoteClassifier()
    assert "memory, all rows at once" in _engines.trained(model, files, "y", *asked, None)
    assert "Note: DuckDB cannot train this model; it is trained in memory." in capsys.readouterr().err
    assert model.n_rows_ == table()["y"].notna().sum()
    monkeypatch.setitem(sys.modules, "duckdb", None)
    monkeypatch.setattr(_engines, "find_spec", lambda name: None)
    assert "memory, in chunks of at most" in _engines.trained(NaiveBayesClassifier(), files, "y", *asked, None)


@pytest.mark.parametrize(
    ("args", "code", "told"),
    [
        (("a.parquet", "--engine", "spark"), 2, "spark"),
        (("a.parquet", "--memory", "much"), 2, "--memory must be a size such as 500MB, 2GB or 1.5GiB, not 'much'"),
        (("a.parquet", "--memory", "-1GB"), 2, "--memory must be a size"),
        (("a.parquet", "--memory", "10MB"), 2, "--memory must be at least 256 MB, not 10MB"),
        (("rows.csv", "--engine", "duckdb"), 1, "--engine duckdb reads only Parquet files"),
        (("a.parquet", "--engine", "duckdb", "--model", "tree"), 1, "Hint: use --engine memory"),
        (("a.parquet", "--engine", "duckdb", "--drop", "kindd"), 1, "did you mean 'kind'?"),
        (("a.parquet", "--engine", "duckdb", "--weights", "far"), 1, "are missing, negative or infinite in"),
        (("*.parqet",), 1, "did you mean '*.parquet'?"),
    ],
)
def test_what_cannot_be_done_is_told_in_one_line(folder, args, code, told):
    done = run("train", *args, "-y", "y", "-o", "none.json", cwd=folder, check=code)
    assert told in done.stderr
    assert "Traceback" not in done.stderr
    assert not (folder / "none.json").exists()


def test_without_duckdb_the_way_to_install_it_is_told(folder, monkeypatch):
    from countwise.naive_bayes.model import NaiveBayesClassifier

    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(
        countwise.errors.OptionError,
        match=r"DuckDB is not installed. Hint: install it with pip install 'countwise\[data\]'",
    ):
        _engines.trained(NaiveBayesClassifier(), [folder / "a.parquet"], "y", (), None, "duckdb", None)


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("500MB", 5 * 10**8),
        ("2GB", 2 * 10**9),
        ("1.5GiB", 1610612736),
        (" 300 m ", 3 * 10**8),
        ("300000000", 3 * 10**8),
    ],
)
def test_sizes_are_read_as_a_person_writes_them(text, amount):
    assert _engines.size(text) == amount


def test_pieces_fit_into_the_memory_that_is_given():
    assert _engines.rows_per_chunk(20, None) == _engines.rows_per_chunk(20, 500 * 10**6) == 65536
    assert _engines.rows_per_chunk(1000, 500 * 10**6) == 3000
    assert _engines.rows_per_chunk(10**6, 300 * 10**6) == 512


def test_what_needs_all_rows_is_refused_if_they_would_not_fit(folder, tmp_path):
    _engines.refuse_too_large("Tree", [folder / "rows.csv"], 12, 300 * 10**6)
    many = tmp_path / "many.csv"
    many.write_text("a,y\n" + "1.25,b\n" * 200_000)
    about = _engines._rows_about([many])
    assert abs(about - 200_000) < 2000
    with pytest.raises(RowsRefused, match=r"Tree needs all rows in memory: about 20\d,\d+ rows of 100 columns take"):
        _engines.refuse_too_large("Tree", [many], 100, 500 * 10**6)
    with pytest.raises(RowsRefused, match="about 600 rows"):
        _engines.refuse_too_large("Tree", sorted(folder.glob("*.parquet")), 10**5, 500 * 10**6)


def test_what_keeps_more_than_it_may_is_stopped_with_a_reason(monkeypatch):
    held = iter([1, 2, 3])
    monkeypatch.setattr(_engines, "_resident", lambda: next(held))
    given = _engines.guarded(iter([{"x": [1, 2]}] * 3), 2)
    assert [len(next(given)["x"]) for _ in range(2)] == [2, 2]
    with pytest.raises(RowsRefused, match="After 4 rows"):
        next(given)


# ------------------------------------------------------------------ memory and Ctrl-C, in a process of their own

# not getrusage: what it tells of a process begins with what the one that started it had
MEASURED = """
import re, sys
from countwise.cli import main
try:
    main(sys.argv[1:])
finally:
    with open("/proc/self/status") as status:
        print("peak", 1024 * int(re.search(r"VmHWM:\\s*(\\d+)", status.read())[1]))
"""


def peak(*args: str) -> int:
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *args], capture_output=True, text=True, timeout=120, env=ENVIRONMENT
    )
    assert done.returncode == 0, done.stderr
    return int(done.stdout.split("peak ")[1])


@pytest.mark.skipif(sys.platform != "linux", reason="the system does not tell how much memory was used")
def test_memory_does_not_grow_with_the_rows(tmp_path):
    rng = np.random.default_rng(1)
    part = pd.DataFrame({f"x{j}": rng.normal(size=100_000) for j in range(8)} | {"y": rng.integers(0, 3, 100_000)})
    for name, times in (("few", 1), ("many", 15)):  # of row groups, which a careless reader keeps
        pd.concat([part] * times).to_parquet(tmp_path / f"{name}.parquet", row_group_size=100_000, index=False)
    out = ("-y", "y", "-o", str(tmp_path / "m.json"), "--engine", "memory", "--memory", "500MB")
    few = peak("train", str(tmp_path / "few.parquet"), *out)
    many = peak("train", str(tmp_path / "many.parquet"), *out)
    assert many < few + 60e6, (few, many)  # there are 100 MB more of rows


STOPPED = """
import os, signal, threading, time, warnings
import duckdb
from countwise import NaiveBayesClassifier

wide = "select (a.range % 3)::varchar as y, 'v' || ((a.range * b.range) % 17) as x"
rows = duckdb.connect().sql(wide + " from range(300000) a, range(300000) b where (a.range * b.range) % 3 <> 5")
model = NaiveBayesClassifier().fit({"x": ["u", "v"]}, ["a", "b"])
before = dict(vars(model))
sent = []

def stop():
    time.sleep(1.5)
    sent.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=stop, daemon=True).start()
try:
    model.fit(rows, "y")
except KeyboardInterrupt:
    print("waited", time.monotonic() - sent[0])
used = time.process_time()
time.sleep(0.5)
print("burned", time.process_time() - used)
print("unchanged", vars(model).keys() == before.keys() and all(vars(model)[k] is before[k] for k in before))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise")
def test_ctrl_c_cancels_the_query_and_leaves_the_model_as_it_was():
    done = subprocess.run(
        [sys.executable, "-c", STOPPED], capture_output=True, text=True, timeout=60, env=ENVIRONMENT
    )
    assert done.returncode == 0, done.stderr
    told = dict(line.split() for line in done.stdout.splitlines())
    assert float(told["waited"]) < 2
    assert float(told["burned"]) < 0.2
    assert told["unchanged"] == "True"


INTERRUPTED = """
import contextlib, sys
import duckdb
from countwise.cli import _engines, main

@contextlib.contextmanager
def endless(*given):
    wide = "select (a.range % 3)::varchar as y, 'v' || ((a.range * b.range) % 17) as x"
    print("asking", flush=True)
    yield duckdb.connect().sql(wide + " from range(300000) a, range(300000) b where (a.range * b.range) % 3 <> 5")

_engines._relation = endless
main(sys.argv[1:])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise")
def test_ctrl_c_ends_the_command_with_one_line_and_writes_nothing(folder, tmp_path):
    out = tmp_path / "m.json"
    args = ("train", "a.parquet", "-y", "y", "-o", str(out), "--engine", "duckdb")
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, *args],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder, env=ENVIRONMENT,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline() == "asking\n"
        time.sleep(1.0)
        sent = time.monotonic()
        os.kill(process.pid, signal.SIGINT)
        _, told = process.communicate(timeout=30)
    assert time.monotonic() - sent < 2
    assert process.returncode == 130
    assert told.strip() == "Interrupted."
    assert not out.exists()


def test_duckdb_is_held_to_its_memory_and_threads_and_its_spare_folder_is_removed(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(_engines.tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("COUNTWISE_THREADS", "1")
    settings = "current_setting('memory_limit'), current_setting('threads'), current_setting('temp_directory')"
    with _engines._relation([folder / "a.parquet"], "y", (), None, 300 * 10**6) as rows:
        (spare,) = tmp_path.glob("countwise-*")
        assert rows.limit(1).project(settings).fetchall() == [("143.0 MiB", 1, str(spare))]
        assert len(rows.fetchall()) == 250
    assert list(tmp_path.iterdir()) == []
