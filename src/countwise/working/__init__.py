"""Workings: an answer's parts as data, and their renderings. The only place that rounds."""

from countwise.working.grid import Grid
from countwise.working.steps import Factor, Step
from countwise.working.working import Change, Working

__all__ = ["Change", "Factor", "Grid", "Step", "Working"]
