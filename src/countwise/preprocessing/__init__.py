"""Preprocessing: discretization of numeric columns and encoding of nominal columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from countwise.registry import lazy_names

if TYPE_CHECKING:
    from countwise.preprocessing.discretizer import Discretizer
    from countwise.preprocessing.encoder import CategoricalEncoder

__all__ = ["CategoricalEncoder", "Discretizer"]

__getattr__, __dir__ = lazy_names("countwise.preprocessing")
