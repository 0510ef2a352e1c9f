"""ARFF files, one or several with the same attributes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from countwise.errors import ReadError
from countwise.sources import arff
from countwise.sources.columns import Columns, same_columns
from countwise.sources.options import Options, named
from countwise.sources.paths import told_apart
from countwise.sources.text_files import lines

__all__ = ["arff_pieces"]


def arff_pieces(paths: list[Path], rows: int, options: Options) -> Iterator[Columns]:
    """The rows of all files, at most so many at a time, with the weights as a column if there are any."""
    heads = [arff.hints(lines(path, options.encoding), path.name) for path in paths]
    names = named(list(heads[0]), options, paths[0])
    for path, head in zip(paths, heads, strict=True):
        same_columns(list(heads[0]), list(head), (paths[0], path))
        odd = next((name for name in head if head[name][0] != heads[0][name][0]), None)
        if odd is not None:
            one, other = told_apart(paths[0], path)
            message = f"{odd!r} is {heads[0][odd][0]} in {one!r} and {head[odd][0]} in {other!r}."
            raise ReadError(message, hint="read files with different attributes apart.")
    weighted = any(arff.has_weights(lines(path, options.encoding), path.name) for path in paths)
    if weighted and options.weight_column in names:
        message = f"{paths[0].name!r} has instance weights and an attribute {options.weight_column!r}."
        raise ReadError(message, hint="give another weight_column=...")
    for path in paths:
        for piece in arff.pieces(lines(path, options.encoding), path.name, rows):
            frame = {name: piece.columns[own] for name, own in zip(names, heads[0], strict=True)}
            if weighted:
                frame[options.weight_column] = piece.weights
            yield frame
