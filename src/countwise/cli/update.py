"""countwise update and countwise forget: add rows to a model, or remove rows from it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
import numpy as np

from countwise.cli import _common

__all__ = ["forget", "update"]

_MOST = 6


def _shared_options(command: Any) -> Any:
    """Add the arguments of both commands."""
    command = _common.weights_option(command)
    command = click.option(
        "-o", "--output", metavar="MODEL", help="Model file to write.  [default: overwrite MODEL]"
    )(command)
    command = click.argument("files", nargs=-1, required=True, metavar="FILE...")(command)
    return click.argument("model")(command)


@click.command("update")
@_shared_options
def update(model: str, files: tuple[str, ...], output: str | None, weights: str | None) -> None:
    """Add the rows of FILE to MODEL without retraining, and report the largest changes.

    MODEL must be estimated from counts, such as naive Bayes or a discriminant. FILE needs the columns of the model,
    including the target; other columns are ignored. FILE can be a pattern in quotes. After an error, the model is
    unchanged.

    \b
    Examples:
      countwise update credit.json new.parquet
      countwise update credit.json 'march/*.csv' -o march.json
    """
    _change(model, files, output, weights, forget=False)


@click.command("forget")
@_shared_options
def forget(model: str, files: tuple[str, ...], output: str | None, weights: str | None) -> None:
    """Remove the rows of FILE from MODEL without retraining, and report the largest changes.

    MODEL must be estimated from counts, such as naive Bayes or a discriminant. Rows whose counts are not in the model
    are an error. A model stores counts, not rows, so it cannot detect every row that it was not trained on.

    \b
    Examples:
      countwise forget credit.json withdrawn.csv
    """
    _change(model, files, output, weights, forget=True)


def _change(model: str, files: tuple[str, ...], output: str | None, weights: str | None, *, forget: bool) -> None:
    """Add rows to a model file, or remove them; no other process changes the file at the same time."""
    from countwise.filewriter import locked

    found = _common.tables(files)
    output = model if output is None else output
    _common.refuse_same(output, found)
    with locked(model, lambda message: _common.echo(f"Note: {message}", err=True)):
        lines = _changed(model, found, output, weights, forget=forget)
    for line in lines:
        _common.echo(line)


def _changed(model: str, found: list[Path], output: str, weights: str | None, *, forget: bool) -> list[str]:
    """Change a model file, and return the report."""
    from countwise.errors import OptionError, TableError, UnseenValueError, listed
    from countwise.modelfile import load, save

    fitted = load(model)
    if not hasattr(fitted, "tallies_"):
        raise OptionError(
            f"{model} is not estimated from counts and cannot be changed.", hint="train it again on all rows."
        )
    target = fitted.target_.name if getattr(fitted, "_known_target", True) and hasattr(fitted, "classes_") else None
    before, rows = _Snapshot.at(fitted), fitted.n_rows_
    weights = _common.row_weights(found, weights)
    learn = fitted.forget if forget else fitted.partial_fit
    unknown = _unknown_columns(fitted, found, target, weights)
    with _common.progress_bar(f"Reading {_common.title(found)}"):
        try:
            schema = _common.schema_with_target(fitted)
            rows_read = _common.chunks(found, target, unknown, types=schema, weights=weights)
            learn(rows_read, target, sample_weight=weights)
        except UnseenValueError as error:
            hint = (
                "remove rows with this value; the model was not trained on them."
                if forget
                else "train again with a domain that contains it."
            )
            raise UnseenValueError(error.message, hint=hint) from None
    if forget and fitted.n_rows_ == rows:
        raise TableError(f"{_common.title(found)} has no rows to forget; {model} is unchanged.")
    save(fitted, output)
    if unknown:
        _common.echo(f"Note: The model has no column {listed(unknown)}; ignored.", err=True)
    news = _news(before, _Snapshot.at(fitted))
    return [f"Rows: {rows} → {fitted.n_rows_}", *news, f"Written to {output}"]


def _unknown_columns(fitted: Any, files: list[Path], target: str | None, weights: str | None) -> tuple[str, ...]:
    """Return the columns that the model does not have."""
    from countwise.io.readers import column_names

    known = {*fitted.schema_, target, weights}
    return tuple(name for name in column_names(files) if name not in known)


@dataclass(slots=True)
class _Snapshot:
    """Snapshot of a model: classes, values of nominal columns, and parameters of each class.

    Changes of a parameter are measured relative to a scale: 1 for probabilities, the standard deviation for means.
    """

    classes: list[str] = field(default_factory=list)
    values: dict[str, list[str]] = field(default_factory=dict)
    numbers: dict[str, tuple[str, float, float]] = field(default_factory=dict)

    @classmethod
    def at(cls, fitted: Any) -> _Snapshot:
        """Return the snapshot of a model."""
        classes = [str(c) for c in fitted.classes_.tolist()] if hasattr(fitted, "classes_") else []
        snapshot = cls(classes)
        for c, p in zip(classes, getattr(fitted, "class_prior_", ()), strict=False):
            snapshot.numbers[f"P({fitted.target_.name} = {c})"] = (c, float(p), 1.0)
        for key, density in getattr(fitted, "densities_", {}).items():
            snapshot._add(key, density, classes)
        return snapshot

    def _add(self, key: str, density: Any, classes: list[str]) -> None:
        mean: Any = getattr(density, "mean", 0.0)
        if hasattr(density, "prob") and hasattr(density, "of") and density.n_classes == len(classes):
            self.values[key] = [str(value) for value in density.of.values]
            for c, row in zip(classes, density.prob, strict=True):
                for value, p in zip(self.values[key], row, strict=False):
                    self.numbers[f"P({key} = {value} | {c})"] = (c, float(p), 1.0)
        elif hasattr(density, "rate"):
            self._add_numbers(f"rate of {key}", classes, density.rate, np.sqrt(density.rate))
        elif np.ndim(mean) == 1 and hasattr(density, "sd"):
            self._add_numbers(f"mean of {key}", classes, mean, density.sd)
        elif np.ndim(mean) == 2 and hasattr(density, "covariance"):
            sd = np.sqrt(np.diagonal(density.covariance, axis1=-2, axis2=-1))  # shared, or of each class
            sd = np.broadcast_to(sd, np.shape(mean))
            for j, name in enumerate(density.names):
                self._add_numbers(f"mean of {name}", classes, mean[:, j], sd[:, j])

    def _add_numbers(self, what: str, classes: list[str], numbers: Any, scales: Any) -> None:
        for c, x, scale in zip(classes, np.ravel(numbers), np.ravel(scales), strict=False):
            self.numbers[f"{what} in {c}"] = (c, float(x), float(scale) if scale > 0 else 1.0)


def _news(before: _Snapshot, after: _Snapshot) -> list[str]:
    """Return new and removed classes and values, and the largest changes of parameters."""
    from countwise.errors import listed
    from countwise.working.numbers import number

    lines = [f"  New class: {c}" for c in after.classes if c not in before.classes]
    lines += [f"  No rows left of class {c}" for c in before.classes if c not in after.classes]
    rebinned = []
    for key, values in after.values.items():
        new = [v for v in values if v not in before.values.get(key, values)]
        gone = [v for v in before.values.get(key, ()) if v not in values]
        if new and gone:  # an update only adds values and forgetting only removes them, so these are bins
            rebinned.append(key)
        elif new or gone:
            lines.append(f"  {key}: {'new values' if new else 'no rows left of'} {listed(new or gone)}")
    lines += [f"  {key}: new bins ({len(after.values[key])})" for key in rebinned]
    changes = []
    for name, (c, old, scale) in before.numbers.items():
        _, now, _ = after.numbers.get(name, (c, old, scale))
        change = abs(now - old) / scale
        if change > 1e-9 and not any(name.startswith(f"P({key} = ") for key in rebinned):
            changes.append((-change, name, old, now))
    lines += ["Largest changes:"] if changes else []
    return [*lines, *(f"  {name}: {number(old)} → {number(now)}" for _, name, old, now in sorted(changes)[:_MOST])]
