"""A model file changed by rows: what moved most is told."""

from __future__ import annotations

from typing import Any

import click
import numpy as np

__all__ = ["changed"]

_MOST = 6


def changed(model: str, files: tuple[str, ...], output: str | None, weights: str | None, *, forget: bool) -> None:
    """Add rows to a model file, or take them back."""
    from countwise.cli._common import pieces, progress_bar, refuse_same, tables, title
    from countwise.errors import OptionError
    from countwise.modelfile import load, save

    found = tables(files)
    output = model if output is None else output
    refuse_same(output, found)
    fitted = load(model, plain=True)
    if not hasattr(fitted, "tallies_"):
        raise OptionError(f"{model} does not learn by counting.", hint="train it anew on all rows.")
    target = fitted.target_.name if getattr(fitted, "_known_target", True) and hasattr(fitted, "classes_") else None
    before, rows = parameters(fitted), fitted.n_rows_
    with progress_bar(f"Reading {title(found)}"):
        if forget:
            fitted.forget(pieces(found, target, ()), target, sample_weight=weights)
        else:
            fitted.partial_fit(pieces(found, target, ()), target, sample_weight=weights)
    save(fitted, output)
    click.echo(f"{rows} rows, now {fitted.n_rows_}. {'What moved most:' if moved(before, fitted) else ''}".rstrip())
    for line in moved(before, fitted):
        click.echo(f"  {line}")
    click.echo(f"Written to {output}")


def parameters(fitted: Any) -> dict[str, tuple[float, float]]:
    """Every probability by name, and means in units of their deviations."""
    found: dict[str, tuple[float, float]] = {}
    classes = [str(c) for c in fitted.classes_.tolist()] if hasattr(fitted, "classes_") else []
    for c, p in zip(classes, getattr(fitted, "class_prior_", ()), strict=False):
        found[f"P({fitted.target_.name} = {c})"] = (float(p), 1.0)
    for key, density in getattr(fitted, "densities_", {}).items():
        if hasattr(density, "prob") and hasattr(density, "of") and density.n_classes == len(classes):
            for i, c in enumerate(classes):
                for j, value in enumerate(density.of.values):
                    found[f"P({key} = {value} | {c})"] = (float(density.prob[i, j]), 1.0)
        elif hasattr(density, "mean") and hasattr(density, "sd") and len(np.shape(density.mean)) == 1:
            for i, c in enumerate(classes[: len(density.mean)]):
                found[f"mean of {key} in {c}"] = (float(density.mean[i]), float(density.sd[i]) or 1.0)
    return found


def moved(before: dict[str, tuple[float, float]], fitted: Any) -> list[str]:
    """What changed most, in words."""
    from countwise.working.numbers import number

    after = parameters(fitted)
    steps = []
    for name in [*before, *(name for name in after if name not in before)]:
        old, scale = before.get(name, (0.0, after.get(name, (0.0, 1.0))[1]))
        new = after.get(name, (0.0, 1.0))[0]
        if abs(new - old) > 1e-9 * max(scale, 1e-300):
            steps.append((-abs(new - old) / scale, name, old, new))
    return [f"{name}: {number(old)} → {number(new)}" for _, name, old, new in sorted(steps)[:_MOST]]
