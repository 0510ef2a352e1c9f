"""countwise predict: what a model tells of the rows of a file."""

from __future__ import annotations

import csv
from typing import Any

import click

from countwise.cli._common import output_file, progress_bar, tables, title

__all__ = ["command"]


@click.command("predict")
@click.argument("model")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("-o", "--output", default="-", metavar="CSV", help="Where to write; standard output by default.")
@click.option("--proba/--no-proba", default=True, show_default=True, help="Write the probability of each class too.")
def command(model: str, files: tuple[str, ...], output: str, proba: bool) -> None:
    """Classify the rows of FILE by MODEL, or tell their numbers, as CSV.

    Rows are read by pieces, so that there may be more of them than fit into memory. Several files, or a pattern in
    quotes, are answered one after the other.

    \b
    countwise predict weather.json days.csv
    countwise predict weather.json 'days/*.parquet' -o told.csv
    """
    from countwise.io.readers import read_pieces
    from countwise.modelfile import load

    fitted = load(model)
    found = tables(files)
    with output_file(output, not_over=(*found, model)) as out:
        writer = csv.writer(out, lineterminator="\n")
        proba = proba and hasattr(fitted, "predict_proba")
        head = [fitted.target_.name, *([f"P({c})" for c in fitted.classes_] if proba else [])]
        with progress_bar(f"Reading {title(found)}"):
            for number, piece in enumerate(read_pieces(found)):
                lines = _lines(fitted, piece, proba)  # before the head: a bad file leaves no half an answer
                if number == 0:
                    writer.writerow(head)
                writer.writerows(lines)


def _lines(model: Any, piece: Any, proba: bool) -> list[list[Any]]:
    if len(next(iter(piece.values()), ())) == 0:
        return []
    if not proba:
        return [[f"{label:.6g}" if isinstance(label, float) else label] for label in model.predict(piece).tolist()]
    shares = model.predict_proba(piece)
    # a list of rules may abstain, and has an answer of its own
    labels = model.predict(piece) if hasattr(model, "rules_") else model.classes_[shares.argmax(axis=1)]
    return [[label, *(f"{p:.6g}" for p in row)] for label, row in zip(labels, shares.tolist(), strict=True)]
