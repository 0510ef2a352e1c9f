"""Every worked example as the call a reader would write, with the values that it must give; and the errata."""

from __future__ import annotations

import math
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import lectures
import numpy as np
import pytest

CASES = lectures.cases()
ERRATA = {case["id"]: case for case in lectures.errata()}
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


def check(values: list[dict[str, Any]], names: dict[str, Any]) -> None:
    """Compare the values of an example with what its call made."""
    for value in values:
        ours = eval(value["of"], names)
        assert same(ours, value["is"], value.get("tolerance", _REL)), (value["of"], ours, value["is"])


@pytest.mark.parametrize("name", CASES)
def test_the_call_gives_the_values_of_the_example(name):
    names, printed = lectures.run(CASES[name]["call"])
    assert printed.strip(), "the call prints nothing"
    assert CASES[name]["value"]
    check(CASES[name]["value"], names)


@pytest.mark.parametrize("number", ERRATA)
def test_the_exact_numbers_of_an_erratum_follow_from_the_call_of_its_example(number):
    erratum = ERRATA[number]
    example = CASES[erratum["example"]]
    assert number in example["erratum"].split(", ")
    names, _ = lectures.run(example["call"])
    check(erratum["value"], {**names, "exp": math.exp, "prod": math.prod, "NormalDist": NormalDist})


@pytest.mark.parametrize(
    ("ours", "wanted"),
    [(0.5, "1/3"), (1.0, "1.000000001"), ([1], ["1", "2"]), ({"a": 1}, {"b": "1"}), ("no", "yes"), (1, True),
     (float("nan"), "0"), (Fraction(1, 3), "1/4"), (True, False)],
)  # fmt: skip
def test_another_value_is_not_the_same(ours, wanted):
    assert not same(ours, wanted)
