"""Benchmarks of fitting and scoring in DuckDB, in chunks and in Spark, compared with SQL, pandas and MLlib.

Each competitor runs in a separate process, which also reports its peak memory.
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from harness import Report, Row, has, in_a_process, timed

NAMES, NUMBERS, CLASSES = 10, 10, 3
FOLDER = Path(tempfile.gettempdir()) / "countwise-bench"


def table_of(rows: int) -> str:
    """Return a Parquet file with ten numeric columns, ten nominal columns and a class; it is created once."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"{rows}.parquet"
    if path.exists():
        return str(path)
    rng = np.random.default_rng(0)
    writer = None
    for start in range(0, rows, 500_000):
        n = min(500_000, rows - start)
        y = rng.integers(0, CLASSES, n)
        columns: dict[str, Any] = {f"x{j}": rng.normal(y * 0.3 * (j % 3), 1, n) for j in range(NUMBERS)}
        for j in range(NAMES):
            codes = pa.array(((y + rng.integers(0, 4, n)) % 6).astype(np.int8))
            values = pa.array([f"v{t}" for t in range(6)])
            columns[f"k{j}"] = pa.DictionaryArray.from_arrays(codes, values).cast(pa.string())
        columns["y"] = pa.array(np.array(["a", "b", "c"])[y])
        chunk = pa.table(columns)
        if writer is None:
            writer = pq.ParquetWriter(path.with_suffix(".part"), chunk.schema)
        writer.write_table(chunk)
    if writer is not None:
        writer.close()
    path.with_suffix(".part").rename(path)
    return str(path)


def connection() -> Any:
    import duckdb

    found = duckdb.connect(config={"memory_limit": "300MB"})
    found.execute("SET threads = 2")
    return found


def peak() -> float:
    """Return the peak memory of this process in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


# -- each competitor runs in a separate process -------------------------------------------------------------


def ours_duckdb(path: str, repeats: int) -> list[float]:
    from countwise import NaiveBayesClassifier

    table = connection().read_parquet(path)
    return [min(timed(lambda: NaiveBayesClassifier().fit(table, "y")) for _ in range(repeats)), peak()]


def ours_chunks(path: str, repeats: int) -> list[float]:
    from countwise import NaiveBayesClassifier

    return [min(timed(lambda: NaiveBayesClassifier().fit(path, "y")) for _ in range(repeats)), peak()]


def by_hand(path: str, repeats: int) -> list[float]:
    held = connection()

    def work() -> None:
        for j in range(NAMES):
            held.execute(f"SELECT y, k{j}, count(*) FROM read_parquet('{path}') GROUP BY ALL").fetchall()
        moments = ", ".join(f"count(x{j}), avg(x{j}), var_samp(x{j})" for j in range(NUMBERS))
        held.execute(f"SELECT y, {moments} FROM read_parquet('{path}') GROUP BY y").fetchall()

    return [min(timed(work) for _ in range(repeats)), peak()]


def pandas_sklearn(path: str, repeats: int) -> list[float]:
    import pandas as pd
    from sklearn.naive_bayes import CategoricalNB, GaussianNB
    from sklearn.preprocessing import OrdinalEncoder

    def work() -> None:
        frame = pd.read_parquet(path)
        names = [f"k{j}" for j in range(NAMES)]
        GaussianNB().fit(frame[[f"x{j}" for j in range(NUMBERS)]], frame["y"])
        CategoricalNB().fit(OrdinalEncoder().fit_transform(frame[names]), frame["y"])

    return [min(timed(work) for _ in range(repeats)), peak()]


def model_of(path: str) -> Any:
    from countwise import NaiveBayesClassifier

    return NaiveBayesClassifier().fit(connection().read_parquet(path), "y")


def ours_scoring(path: str, repeats: int) -> list[float]:
    held = connection()
    held.execute(f"CREATE VIEW rows AS SELECT * FROM read_parquet('{path}')")
    query = model_of(path).to_sql("rows")
    out = FOLDER / "scored.parquet"
    work = f'COPY (SELECT "predicted y", "P(a)", "P(b)", "P(c)" FROM ({query})) TO \'{out}\''
    return [min(timed(lambda: held.execute(work)) for _ in range(repeats)), peak()]


def pandas_scoring(path: str, repeats: int) -> list[float]:
    import pandas as pd

    model = model_of(path)
    out = FOLDER / "scored_pandas.parquet"

    def work() -> None:
        posteriors = model.predict_proba(pd.read_parquet(path))
        pd.DataFrame(posteriors, columns=[f"P({c})" for c in model.classes_]).to_parquet(out)

    return [min(timed(work) for _ in range(repeats)), peak()]


def spark_session() -> Any:
    from pyspark.sql import SparkSession

    session = (
        SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2").config("spark.driver.memory", "4g").getOrCreate()
    )  # fmt: skip
    session.sparkContext.setLogLevel("OFF")
    return session


def ours_spark(path: str, repeats: int) -> list[float]:
    from countwise import NaiveBayesClassifier

    table = spark_session().read.parquet(path).select("y", *(f"k{j}" for j in range(NAMES)))
    return [min(timed(lambda: NaiveBayesClassifier().fit(table, "y")) for _ in range(repeats)), peak()]


def mllib(path: str, repeats: int) -> list[float]:
    """Fit MLlib's naive Bayes to the same nominal columns: indexed, one-hot encoded, multinomial."""
    from pyspark.ml import Pipeline
    from pyspark.ml.classification import NaiveBayesClassifier
    from pyspark.ml.feature import OneHotEncoder, StringIndexer, VectorAssembler

    table = spark_session().read.parquet(path).select("y", *(f"k{j}" for j in range(NAMES)))
    names = [f"k{j}" for j in range(NAMES)]
    stages = [
        StringIndexer(inputCols=[*names, "y"], outputCols=[*(f"i{n}" for n in names), "label"]),
        OneHotEncoder(inputCols=[f"i{n}" for n in names], outputCols=[f"o{n}" for n in names], dropLast=False),
        VectorAssembler(inputCols=[f"o{n}" for n in names], outputCol="features"),
        NaiveBayesClassifier(modelType="multinomial"),
    ]
    return [min(timed(lambda: Pipeline(stages=stages).fit(table)) for _ in range(repeats)), peak()]


WORK = {
    f.__name__: f
    for f in (
        ours_duckdb, ours_chunks, by_hand, pandas_sklearn, ours_scoring, pandas_scoring, ours_spark, mllib, table_of
    )
}  # fmt: skip


def alone(name: str, *settings: Any) -> Any:
    return in_a_process(__file__, name, *settings)


# -- cases ------------------------------------------------------------------------------


def engine(report: Report, rows: int = 5_000_000) -> None:
    path = alone("table_of", rows)
    ours, hand, peer = alone("ours_duckdb", path, 3), alone("by_hand", path, 3), alone("pandas_sklearn", path, 1)
    size = f"{rows // 1_000_000}M x 20"
    report.add(
        Row(f"fit {size} Parquet in DuckDB", ours[0], hand[0], "hand-written SQL", 1 / 1.3, f"{ours[1]:.0f} MB")
    )
    report.add(Row(f"fit {size} Parquet in DuckDB", ours[0], peer[0], "pandas and scikit-learn", 3))
    scored, loaded = alone("ours_scoring", path, 2), alone("pandas_scoring", path, 1)
    report.add(Row(f"score {size} with SQL", scored[0], loaded[0], "pandas and predict_proba", 3))


def growth(report: Report) -> None:
    """Report time and memory by number of rows, and fit a line to the times."""
    sizes, seconds = (1_000_000, 5_000_000, 20_000_000), {"DuckDB": [], "chunks": []}
    lines = ["| rows x 20 | DuckDB | memory | chunks | memory |", "|---:|---:|---:|---:|---:|"]
    for rows in sizes:
        path = alone("table_of", rows)
        one, other = alone("ours_duckdb", path, 2), alone("ours_chunks", path, 2)
        seconds["DuckDB"].append(one[0])
        seconds["chunks"].append(other[0])
        lines.append(f"| {rows:,} | {one[0]:.2f} s | {one[1]:.0f} MB | {other[0]:.2f} s | {other[1]:.0f} MB |")
    report.note("\n".join(lines))
    for how, times in seconds.items():
        slope, start = np.polyfit(sizes, times, 1)
        off = np.abs(np.polyval([slope, start], sizes) - times) / times
        report.note(
            f"{how}: {start:.2f} s plus {1e6 * slope:.2f} s per million rows; largest relative residual {off.max():.0%}."
        )


def cluster(report: Report, rows: int = 5_000_000) -> None:
    if has("pyspark"):
        path = alone("table_of", rows)
        report.add(
            Row(
                "fit 5M x 10 nominal columns in Spark",
                alone("ours_spark", path, 2)[0],
                alone("mllib", path, 2)[0],
                "MLlib",
                1,
            )
        )


CASES = {"engine": engine, "growth": growth, "cluster": cluster}

if __name__ == "__main__":
    started = time.perf_counter()
    print(json.dumps(WORK[sys.argv[1]](*json.loads(sys.argv[2]))))
