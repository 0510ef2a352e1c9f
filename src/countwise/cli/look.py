"""countwise look: columns, missing values and classes of a table."""

from __future__ import annotations

from typing import Any

import click

from countwise.cli import _common
from countwise.errors import printable

__all__ = ["command"]


@click.command("look")
@click.argument("file")
@click.option("-y", "--target", default=None, metavar="COLUMN", help="Target column.")
@_common.types_option
@_common.json_option
def command(file: str, target: str | None, types: tuple[str, ...], as_json: bool) -> None:
    """Describe the columns of FILE: types, values, missing values and possible problems.

    With -y, also show the classes, and whether the missing values of a column depend on the class.

    \b
    Examples:
      countwise look credit.csv -y Status
      countwise look credit.csv --types Home=nominal
    """
    from countwise.data.frames import frame_of
    from countwise.data.schema import Schema

    files = _common.tables(file)
    declared = _common.types_from(files, types, target)
    frame = frame_of(_common.table_of(files, target, (), declared))
    _common.refuse_unknown(_common.pairs(types, "--types"), frame.columns, files)
    schema = Schema.infer(frame, {k: v for k, v in declared.items() if k in frame.columns} or None)
    table = schema.encode(frame)
    described = [_described(a, table[a.name], frame.n_rows) for a in schema.attributes]
    classes = None if target is None or frame.n_rows == 0 else _target(frame, target, declared)
    if as_json:
        _common.echo_json({"rows": frame.n_rows, "attributes": described, **(classes or {})})
        return
    _print(file, frame.n_rows, described, target, classes)


def _described(attribute: Any, column: Any, n_rows: int) -> dict[str, Any]:
    import numpy as np

    from countwise.data.attributes import Nominal, Numeric
    from countwise.working.numbers import number

    entry: dict[str, Any] = {"attribute": attribute.name, "kind": attribute.kind}
    if isinstance(attribute, Nominal):
        k = len(attribute.values)
        counts = np.bincount(column, minlength=k + 2)
        order = np.argsort(-counts[:k], kind="stable")[:4]
        entry |= {"values": k, "missing": int(counts[k])}
        entry["most"] = ", ".join(f"{attribute.values[v]} {counts[v]}" for v in order)
        entry["watch"] = "an identifier?" if n_rows >= 100 and len(attribute.values) > 0.9 * n_rows else ""
        entry["watch"] = "constant" if len(attribute.values) == 1 else entry["watch"]
        entry["watch"] = f"{counts[k + 1]} values outside the domain" if counts[k + 1] else entry["watch"]
    elif isinstance(attribute, Numeric):
        x = np.asarray(column, dtype=np.float64)
        known = x[~np.isnan(x)]
        entry |= {"values": len(np.unique(known)), "missing": int(len(x) - len(known)), "most": ""}
        if len(known):
            sd = known.std(ddof=1) if len(known) > 1 else 0.0
            ends = f"{number(known.min())} to {number(known.max())}"
            entry["most"] = f"{ends}, mean {number(known.mean())}, sd {number(sd)}"
        entry["watch"] = "infinite values" if np.isinf(known).any() else "constant" if entry["values"] == 1 else ""
    else:
        missing = 0 if column.missing is None else int(column.missing.sum())
        entry |= {"values": len(attribute.words), "missing": missing, "most": "words", "watch": ""}
    if entry["missing"] == n_rows and n_rows:
        entry["watch"] = "all values are missing"
    return entry


def _target(frame: Any, target: str, declared: dict[str, Any]) -> dict[str, Any]:
    import warnings

    from countwise.errors import DataWarning
    from countwise.naive_bayes.model import NaiveBayesClassifier

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # the table of columns says the same
        types = {k: v for k, v in declared.items() if k in frame.columns and k != target}
        model = NaiveBayesClassifier(types=types or None).fit(frame, target)
    return {
        "classes": {str(c): float(n) for c, n in zip(model.classes_, model.class_count_, strict=True)},
        "left_out": model.n_left_out_,
        "absence": dict(model.missing_report()),
    }


def _print(file: str, n_rows: int, described: list[dict[str, Any]], target: str | None, found: Any) -> None:
    _common.echo(f"{file}: {n_rows} rows, {len(described)} columns\n")
    if described:
        heads = {"kind": "type", "most": "summary", "watch": "note"}
        _common.echo_table({heads.get(key, key): [entry[key] for entry in described] for key in described[0]})
    if found is None:
        return
    total = sum(found["classes"].values())
    _common.echo(f"\nTarget {target}:")
    for label, n in found["classes"].items():
        _common.echo(f"  {printable(label, lines=False)}: {n:g} ({n / total:.1%})")
    _common.echo(
        f"  Accuracy of always predicting the most frequent class: {max(found['classes'].values()) / total:.1%}"
    )
    if found["left_out"]:
        _common.echo(f"  Rows without a value of {target}, ignored in training: {found['left_out']}")
    report = found["absence"]
    if report["attribute"]:
        _common.echo("\nDo missing values depend on the class?")
        _common.echo_table(report)
