# The compiled kernels have the signatures of the reference, which documents them. The exception is bin_columns; its
# steps are declared below.
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._kernels.reference import *  # noqa: F403

def get_level() -> str: ...
def set_level(wanted: str) -> None: ...
def levels() -> list[str]: ...

# Ends the kernels that run in the calling thread when the first byte is not 0.
def set_stop_flag(flag: bytearray | None) -> None: ...

# Steps of countwise._kernels.binning.
def few_values(columns: Sequence[NDArray[Any]], limit: int) -> list[NDArray[np.float64] | None]: ...
def bin_counts(
    columns: Sequence[NDArray[Any]],
    weights: NDArray[np.float64] | None,
    ranges: NDArray[np.float64],
    cells: NDArray[np.uint32],
    counts: NDArray[np.uint32],
    sums: NDArray[np.float64],
) -> None: ...
def bin_collect(
    columns: Sequence[NDArray[Any]],
    weights: NDArray[np.float64] | None,
    ranges: NDArray[np.float64],
    cells: NDArray[np.uint32],
    words: NDArray[np.uint16],
    slots: NDArray[np.uint16],
    wanted: NDArray[np.uint8],
    common: NDArray[np.float64],
    capacities: list[int],
    codes: list[NDArray[np.uint8]],
) -> tuple[
    list[tuple[NDArray[np.float64], NDArray[np.uint32], NDArray[np.float64]] | None],
    NDArray[np.float64],
    NDArray[np.float64],
]: ...
def bin_amend(
    values: NDArray[np.float64],
    rows: NDArray[np.uint32],
    edges: NDArray[np.float64],
    steps: int,
    codes: NDArray[np.uint8],
) -> None: ...
def bin_codes(
    columns: Sequence[NDArray[Any]],
    ranges: NDArray[np.float64],
    cells: NDArray[np.uint32],
    words: NDArray[np.uint16],
    edges: NDArray[np.float64],
    steps: list[int],
    codes: list[NDArray[np.uint8]],
) -> None: ...
