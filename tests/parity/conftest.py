"""A test that asks for `level` runs at every level of the processor, and says at which one it failed."""

from __future__ import annotations

import inspect

import pytest


@pytest.fixture
def level() -> str:
    """The level at which the kernels run; given anew for each by `pytest_pyfunc_call`."""
    return ""


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    if "level" not in pyfuncitem.fixturenames:
        return None
    from .levels import each_level

    work, arguments = pyfuncitem.obj, pyfuncitem.funcargs
    given = {name: arguments[name] for name in inspect.signature(work).parameters}
    for level in each_level():
        try:
            work(**(given | {"level": level} if "level" in given else given))
        except BaseException as error:
            error.add_note(f"This was at level {level}.")
            raise
    return True
