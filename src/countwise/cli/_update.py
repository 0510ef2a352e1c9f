"""A model file changed by rows: what is new, what is gone and what moved most is told."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
import numpy as np

__all__ = ["changed"]

_MOST = 6


def changed(model: str, files: tuple[str, ...], output: str | None, weights: str | None, *, forget: bool) -> None:
    """Add rows to a model file, or take them back."""
    from countwise.cli._common import pieces, progress_bar, refuse_same, tables, title
    from countwise.errors import OptionError, TableError, UnseenValueError
    from countwise.modelfile import load, save

    found = tables(files)
    output = model if output is None else output
    refuse_same(output, found)
    fitted = load(model)
    if not hasattr(fitted, "tallies_"):
        raise OptionError(f"{model} does not learn by counting.", hint="train it anew on all rows.")
    target = fitted.target_.name if getattr(fitted, "_known_target", True) and hasattr(fitted, "classes_") else None
    before, rows = _Look.at(fitted), fitted.n_rows_
    learn = fitted.forget if forget else fitted.partial_fit
    with progress_bar(f"Reading {title(found)}"):
        try:
            learn(pieces(found, target, ()), target, sample_weight=weights)
        except UnseenValueError as error:
            hint = "a row with it was never learned." if forget else "train anew with a domain that has it."
            raise UnseenValueError(error.message, hint=hint) from None
    if forget and fitted.n_rows_ == rows:
        raise TableError(f"{title(found)} has no row to forget.", hint=f"{model} stays as it was.")
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
