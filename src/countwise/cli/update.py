"""countwise update and countwise forget: a model file with more rows, or without some of its rows."""

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
    """The arguments that both commands take."""
    command = _common.weights_option(command)
    command = click.option("-o", "--output", metavar="MODEL", help="Where to write; by default in its place.")(
        command
    )
    command = click.argument("files", nargs=-1, required=True, metavar="FILE...")(command)
    return click.argument("model")(command)


@click.command("update")
@_shared_options
def update(model: str, files: tuple[str, ...], output: str | None, weights: str | None) -> None:
    """Add the rows of FILE to MODEL, and say what is new and what moved most.

    For models that learn by counting. The file has the model's columns, the class among them; others are left out,
    and that is said. Several files, or a pattern in quotes, are added together. If anything is wrong, nothing is.

    \b
    countwise update credit.json new.parquet
    countwise update credit.json 'march/*.csv' -o march.json
    """
    _change(model, files, output, weights, forget=False)


@click.command("forget")
@_shared_options
def forget(model: str, files: tuple[str, ...], output: str | None, weights: str | None) -> None:
    """Take the rows of FILE back from MODEL, as if they had never been there, and say what moved most.

    For models that learn by counting. Rows that cannot have been learned are refused; a model keeps counts and not
    rows, so that others that were never learned cannot be told from those that were.

    \b
    countwise forget credit.json withdrawn.csv
    """
    _change(model, files, output, weights, forget=True)


def _change(model: str, files: tuple[str, ...], output: str | None, weights: str | None, *, forget: bool) -> None:
    """Add rows to a model file, or take them back."""
    from countwise.errors import OptionError, TableError, UnseenValueError
    from countwise.modelfile import load, save

    found = _common.tables(files)
    output = model if output is None else output
    _common.refuse_same(output, found)
    fitted = load(model)
    if not hasattr(fitted, "tallies_"):
        raise OptionError(f"{model} does not learn by counting.", hint="train it anew on all rows.")
    target = fitted.target_.name if getattr(fitted, "_known_target", True) and hasattr(fitted, "classes_") else None
    before, rows = _Look.at(fitted), fitted.n_rows_
    learn = fitted.forget if forget else fitted.partial_fit
    with _common.progress_bar(f"Reading {_common.title(found)}"):
        try:
            learn(_common.pieces(found, target, ()), target, sample_weight=weights)
        except UnseenValueError as error:
            hint = "a row with it was never learned." if forget else "train anew with a domain that has it."
            raise UnseenValueError(error.message, hint=hint) from None
    if forget and fitted.n_rows_ == rows:
        raise TableError(f"{_common.title(found)} has no row to forget.", hint=f"{model} stays as it was.")
    save(fitted, output)
    _note_unknown_columns(fitted, found, target, weights)
    click.echo(f"{rows} rows, now {fitted.n_rows_}.")
    for line in _news(before, _Look.at(fitted)):
        click.echo(line)
    click.echo(f"Written to {output}")


def _note_unknown_columns(fitted: Any, files: list[Path], target: str | None, weights: str | None) -> None:
    """Columns that a model does not ask about are not learned; that is said."""
    from countwise.errors import listed
    from countwise.io.readers import column_names

    more = [name for name in column_names(files) if name not in fitted.schema_ and name not in (target, weights)]
    if more:
        click.echo(f"Note: the model does not know {listed(more)}; left out.", err=True)


@dataclass(slots=True)
class _Look:
    """What a model holds: the classes, the values of names, and its numbers by class.

    A number has a scale in which its movement is measured: 1 for probabilities, the deviation for a mean.
    """

    classes: list[str] = field(default_factory=list)
    values: dict[str, list[str]] = field(default_factory=dict)
    numbers: dict[str, tuple[str, float, float]] = field(default_factory=dict)

    @classmethod
    def at(cls, fitted: Any) -> _Look:
        """All that can be told of a model."""
        classes = [str(c) for c in fitted.classes_.tolist()] if hasattr(fitted, "classes_") else []
        look = cls(classes)
        for c, p in zip(classes, getattr(fitted, "class_prior_", ()), strict=False):
            look.numbers[f"P({fitted.target_.name} = {c})"] = (c, float(p), 1.0)
        for key, density in getattr(fitted, "densities_", {}).items():
            look._add(key, density, classes)
        return look

    def _add(self, key: str, density: Any, classes: list[str]) -> None:
        mean: Any = getattr(density, "mean", 0.0)
        if hasattr(density, "prob") and hasattr(density, "of") and density.n_classes == len(classes):
            self.values[key] = [str(value) for value in density.of.values]
            for c, shares in zip(classes, density.prob, strict=True):
                for value, share in zip(self.values[key], shares, strict=False):
                    self.numbers[f"P({key} = {value} | {c})"] = (c, float(share), 1.0)
        elif hasattr(density, "rate"):
            self._add_numbers(f"rate of {key}", classes, density.rate, np.sqrt(density.rate))
        elif np.ndim(mean) == 1 and hasattr(density, "sd"):
            self._add_numbers(f"mean of {key}", classes, mean, density.sd)
        elif np.ndim(mean) == 2 and hasattr(density, "covariance"):
            spread = np.sqrt(np.diagonal(density.covariance, axis1=-2, axis2=-1))  # of all classes, or of each
            spread = np.broadcast_to(spread, np.shape(mean))
            for j, name in enumerate(density.names):
                self._add_numbers(f"mean of {name}", classes, mean[:, j], spread[:, j])

    def _add_numbers(self, what: str, classes: list[str], numbers: Any, scales: Any) -> None:
        for c, x, scale in zip(classes, np.ravel(numbers), np.ravel(scales), strict=False):
            self.numbers[f"{what} in {c}"] = (c, float(x), float(scale) if scale > 0 else 1.0)


def _news(before: _Look, after: _Look) -> list[str]:
    """What is new, what is gone, and what moved most, in words."""
    from countwise.errors import listed
    from countwise.working.numbers import number

    lines = [f"  new class {c}" for c in after.classes if c not in before.classes]
    lines += [f"  no row of class {c} is left" for c in before.classes if c not in after.classes]
    cut_anew = []
    for key, values in after.values.items():
        new = [v for v in values if v not in before.values.get(key, values)]
        gone = [v for v in before.values.get(key, ()) if v not in values]
        if new and gone:  # values only come, or only go: these are ranges
            cut_anew.append(key)
        elif new or gone:
            lines.append(f"  {key}: {'new' if new else 'no row is left of'} {listed(new or gone)}")
    lines += [f"  {key} is cut anew into {len(after.values[key])} ranges" for key in cut_anew]
    steps = []
    for name, (c, old, scale) in before.numbers.items():
        _, now, _ = after.numbers.get(name, (c, old, scale))
        moved = abs(now - old) / scale
        if moved > 1e-9 and not any(name.startswith(f"P({key} = ") for key in cut_anew):
            steps.append((-moved, name, old, now))
    lines += ["What moved most:"] if steps else []
    return [*lines, *(f"  {name}: {number(old)} → {number(now)}" for _, name, old, now in sorted(steps)[:_MOST])]
