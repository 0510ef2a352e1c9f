"""Workings: the steps of a prediction as data, and their text, LaTeX and HTML. Only this package rounds."""

from countwise.working.formula import Formula
from countwise.working.grid import Grid
from countwise.working.sections import Account, Section
from countwise.working.steps import Factor, Step
from countwise.working.working import Change, Working

__all__ = ["Account", "Change", "Factor", "Formula", "Grid", "Section", "Step", "Working"]
