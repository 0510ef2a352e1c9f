"""Worked examples that are given as the call a reader would write, with the values that it must give."""

from __future__ import annotations

import contextlib
import io
import math
import tomllib
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

CASES = {
    path.stem: case
    for path in sorted(Path(__file__).parent.glob("*.toml"))
    if "call" in (case := tomllib.loads(path.read_text(encoding="utf-8")))
}
_REL = 1e-12


def same(ours: Any, wanted: Any, tolerance: float = _REL) -> bool:
    """Return whether a value is the wanted one: numbers as fractions or decimals, anything else as it is."""
    if isinstance(wanted, dict):
        ours = {str(key): value for key, value in dict(ours).items()}
        return ours.keys() == wanted.keys() and all(same(ours[key], wanted[key], tolerance) for key in wanted)
    if isinstance(wanted, list):
        ours = list(ours)
        return len(ours) == len(wanted) and all(same(a, b, tolerance) for a, b in zip(ours, wanted, strict=True))
    if isinstance(ours, bool | np.bool_) or isinstance(wanted, bool):
        return isinstance(ours, bool | np.bool_) and isinstance(wanted, bool) and bool(ours) == wanted
    if isinstance(ours, Fraction):
        return ours == Fraction(wanted)
    if isinstance(ours, int | float | np.number):
        number = float(Fraction(wanted)) if isinstance(wanted, str) and "/" in wanted else float(wanted)
        return bool(math.isclose(ours, number, rel_tol=tolerance, abs_tol=1e-300 if tolerance == _REL else tolerance))
    return str(ours) == str(wanted)


@pytest.mark.parametrize("name", CASES)
def test_the_call_gives_the_values_of_the_example(name, tmp_path, monkeypatch):
    case = CASES[name]
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(case["call"], namespace)
    assert printed.getvalue().strip(), "the call prints nothing"
    for value in case.get("value", []):
        ours = eval(value["of"], namespace)
        assert same(ours, value["is"], value.get("tolerance", _REL)), (value["of"], ours, value["is"])


@pytest.mark.parametrize(
    ("ours", "wanted"),
    [(0.5, "1/3"), (1.0, "1.000000001"), ([1], ["1", "2"]), ({"a": 1}, {"b": "1"}), ("no", "yes"), (1, True),
     (float("nan"), "0"), (Fraction(1, 3), "1/4"), (True, False)],
)  # fmt: skip
def test_another_value_is_not_the_same(ours, wanted):
    assert not same(ours, wanted)
