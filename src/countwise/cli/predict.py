"""countwise predict: the target of each row of a file."""

from __future__ import annotations

from typing import Any

import click

from countwise.cli._common import (
    csv_writer,
    echo,
    note_unseen,
    output_file,
    predictor_from,
    progress_bar,
    tables,
    title,
)

__all__ = ["command"]


@click.command("predict")
@click.argument("model")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("-o", "--output", default="-", metavar="CSV", help="CSV file to write.  [default: standard output]")
@click.option("--proba/--no-proba", default=True, show_default=True, help="Also write the probability of each class.")
@click.option("--raw", is_flag=True, help="Write classes that begin with =, +, - or @ without an apostrophe.")
def command(model: str, files: tuple[str, ...], output: str, proba: bool, raw: bool) -> None:
    """Predict the target for each row of FILE and write the predictions as CSV.

    The predictions are in the order of the rows. Rows are read in chunks, so FILE can be larger than memory. FILE can
    be a pattern in quotes. A class that a spreadsheet would run as a formula, such as =1+1, is written with an
    apostrophe before it, unless --raw is given; other commands remove it when they read the file. A model that
    abstains for a row leaves its line empty, and a note counts these rows.

    \b
    Examples:
      countwise predict weather.json days.csv
      countwise predict weather.json 'days/*.parquet' -o predictions.csv
    """
    from countwise.data.schema import field_types
    from countwise.io.readers import read_pieces

    fitted = predictor_from(model)
    found = tables(files)
    with output_file(output, not_over=(*found, model)) as out:
        writer = csv_writer(out, raw=raw)
        proba = proba and hasattr(fitted, "predict_proba")
        head = [fitted.target_.name, *([f"P({c})" for c in fitted.classes_] if proba else [])]
        with progress_bar(f"Reading {title(found)}"):
            types, needed = field_types(fitted.schema_), list(fitted.schema_)
            n_abstained = 0
            for number, chunk in enumerate(read_pieces(found, types=types, needed=needed)):
                lines = _lines(fitted, chunk, proba)  # before the header: a bad file must not leave partial output
                if number == 0:
                    note_unseen(fitted.schema_, chunk)
                    writer.writerow(head)
                writer.writerows(lines)
                n_abstained += sum(line[0] == "" for line in lines)
    if n_abstained:
        rows = "1 row" if n_abstained == 1 else f"{n_abstained:,} rows"
        echo(f"Note: the model abstains for {rows}: no rule holds, or no training row is identical.", err=True)


def _lines(model: Any, chunk: Any, proba: bool) -> list[list[Any]]:
    if len(next(iter(chunk.values()), ())) == 0:
        return []
    if not proba:
        return [[_cell(label)] for label in model.predict(chunk).tolist()]
    from countwise.base.predictions import predicted_by

    labels, posterior = predicted_by(model, chunk)
    rows = zip(labels, posterior.tolist(), strict=True)
    return [[_cell(label), *("" if p != p else f"{p:.6g}" for p in row)] for label, row in rows]


def _cell(label: Any) -> Any:
    """Return a predicted class, or an empty cell if the model abstains."""
    return "" if label is None else label
