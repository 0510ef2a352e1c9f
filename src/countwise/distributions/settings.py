"""Settings as plain data and back: what a model file holds, and what two models are compared by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from countwise.data.attributes import Attribute
from countwise.data.schema import Schema, attribute_from
from countwise.distributions.smoothing import MEstimate, Smoothing

__all__ = ["plain", "revived"]


def plain(value: Any) -> Any:
    """A setting as plain data; laws, attributes and m-estimates are marked as what they are."""
    if isinstance(value, Schema):
        return {"@": "schema", "of": value.to_dict()}
    if isinstance(value, Attribute):
        return {"@": "attribute", "of": value.to_dict()}
    if isinstance(value, MEstimate):
        return {"@": "m-estimate", "m": value.m, "p": plain(value.p)}
    if isinstance(value, Smoothing):
        return {"@": "smoothing", "epsilon": value.epsilon, "estimate": plain(value.estimate)}
    if hasattr(value, "kind"):
        own = {f.name: plain(getattr(value, f.name)) for f in fields(value)}
        return {"@": "distribution", "kind": value.kind, **own}
    if hasattr(value, "as_setting"):
        return value.as_setting()
    if isinstance(value, float) and value == np.inf:
        return {"@": "infinity"}
    if isinstance(value, Mapping):
        return {"@": "mapping", "of": [[plain(k), plain(v)] for k, v in value.items()]}
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    return value


def revived(value: Any) -> Any:
    """The setting that `plain` wrote; only what is named here is ever made."""
    if isinstance(value, list):
        return [revived(v) for v in value]
    if not isinstance(value, Mapping):
        return value
    kind = value.get("@")
    if kind == "schema":
        return Schema.from_dict(value["of"])
    if kind == "attribute":
        return attribute_from(value["of"])
    if kind == "m-estimate":
        return MEstimate(value["m"], revived(value["p"]))
    if kind == "smoothing":
        return Smoothing(value["epsilon"], revived(value["estimate"]))
    if kind in ("distribution", "law"):  # "law" in files of format 1, whose settings have other names too
        from countwise.distributions import distribution_from

        names = {"law": "kind", "width": "bandwidth"} if kind == "law" else {}
        return distribution_from({names.get(key, key): revived(v) for key, v in value.items() if key != "@"})
    if kind == "infinity":
        return float("inf")
    if kind == "mapping":
        return {revived(k): revived(v) for k, v in value["of"]}
    raise ValueError(f"a setting of unknown kind {kind!r}")
