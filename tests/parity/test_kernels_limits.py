"""Sizes that no memory holds, and trees of other distances: errors, never memory that is not theirs."""

from __future__ import annotations

import _thread
import subprocess
import sys

import numpy as np
import pytest

from countwise._kernels import PairMetric, PairRows, over_items, reference

try:
    from countwise._kernels import _native as native
except ImportError:
    pytest.skip("the compiled kernels are absent", allow_module_level=True)

CODES = np.array([0, 1, 1], np.uint8)
ENTRIES, STARTS = np.array([1, 3, 5], np.uint32), np.array([0, 3])


@pytest.mark.parametrize("kernels", [native, reference])
@pytest.mark.parametrize("sizes", [[2**32, 2**32], [2**63, 2], [2**31, 1], [2**16, 2**15]])
def test_pairs_of_more_cells_than_can_be_counted_are_refused(kernels, sizes: list[int]) -> None:
    with pytest.raises(ValueError, match="too many cells"):
        kernels.count_families([CODES, CODES], sizes, [[0, 1]], None)


def test_a_pair_with_a_column_without_values_has_no_cells() -> None:
    for kernels in (native, reference):
        (table,) = kernels.count_families([CODES, CODES], [2**40, 0], [[1, 0]], None)
        assert table.shape == (0, 2**40)


@pytest.mark.parametrize("kernels", [native, reference])
@pytest.mark.parametrize("n_next", [2**31 + 1, 2**63 - 1, 2**64 - 1])
def test_more_segments_than_slots_can_number_are_refused(kernels, n_next: int) -> None:
    slots, first = np.array([0, 1], np.int32), np.array([0, 2])
    with pytest.raises(ValueError, match=f"n_next is {n_next}; it must be at most 2147483648"):
        kernels.partition_entries(ENTRIES, STARTS, CODES, slots, first, n_next, None)


@pytest.mark.parametrize("kernels", [native, reference])
@pytest.mark.parametrize("n_classes", [2**32 + 1, 2**61, 2**64 - 1])
def test_more_classes_than_codes_have_are_refused(kernels, n_classes: int) -> None:
    for weights in (None, np.full(3, 0.5)):
        with pytest.raises(ValueError, match="n_classes is"):
            kernels.best_thresholds(ENTRIES, STARTS, CODES, weights, n_classes, "gini", 0.0)


@pytest.mark.parametrize("n_classes", [2**32 + 1, 2**61, 2**64 - 1])
def test_no_kernel_makes_tables_for_more_classes_than_codes_have(n_classes: int) -> None:
    x = np.arange(3.0)
    calls = [
        lambda: native.class_moments([x], CODES, None, n_classes),
        lambda: native.class_moments([], CODES, None, n_classes),
        lambda: native.class_scatter([x], CODES, None, n_classes, np.zeros(3, np.uint8)),
        lambda: native.mdl_cuts(x, CODES, None, n_classes),
        lambda: native.count_codes(CODES, CODES, None, n_classes, 2),
        lambda: native.count_codes(CODES, CODES, None, 2, n_classes),
        lambda: native.csr_class_sums(np.arange(4), np.zeros(3, np.int32), x, CODES, None, n_classes, 2, False),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=r"is \d+; it must be at most 4294967296"):
            call()


def test_memory_that_is_not_there_is_an_error() -> None:
    code = (
        "import resource; import numpy as np; from countwise._kernels import _native\n"
        "resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))\n"
        "try: _native.class_moments([], np.zeros(3, np.uint8), None, 2**32)\n"
        "except (MemoryError, ValueError): print('refused')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)  # on its own
    assert done.stdout == "refused\n", done.stderr


@pytest.mark.parametrize("kernels", [native, reference])
@pytest.mark.parametrize("span", [2**31 + 1, 2**63 - 1, 2**64 - 1])
def test_spans_of_more_numbers_than_can_be_marked_are_refused(kernels, span: int) -> None:
    with pytest.raises(ValueError, match=f"span is {span}"):
        kernels.mark_columns([np.arange(3.0)], 0, span)


def metric_of(factors: list[float], known: int = 2**40) -> PairMetric:
    n = len(factors)
    return PairMetric(np.array(factors), np.ones(n), [1.0], np.array([[known, known]]), np.ones(n + 1), 1.0, 2.0)


def test_a_tree_that_was_made_for_another_distance_is_refused() -> None:
    rng = np.random.default_rng(0)
    rows = PairRows(rng.normal(size=(200, 2)), [rng.integers(0, 3, 200).astype(np.uint8)])
    tree = native.row_tree(rows, metric_of([1.0, 1.0]))
    same = native.nearest(rows, rows, metric_of([1.0, 1.0]), 1.0, np.inf, None, None, tree)
    np.testing.assert_array_equal(same[1], np.arange(200))
    for other in (metric_of([1.0, 2.0]), metric_of([1.0, 1.0], known=2)):
        with pytest.raises(ValueError, match="another metric"):
            native.nearest(rows, rows, other, 1.0, np.inf, None, None, tree)


def test_distances_that_are_not_numbers_are_no_nearer_than_others() -> None:
    table = np.array([[0.0, np.nan, 2.0], [np.nan, 0.0, 1.0], [2.0, 1.0, 0.0]])
    metric = PairMetric(np.empty(0), np.empty(0), [table], np.full((1, 2), 2**40), None, 1.0, 1.0)
    rows = PairRows(np.empty((3, 0)), [np.array([0, 1, 2], np.uint8)])
    for kernels in (native, reference):
        _, ids, sums = kernels.nearest(rows, rows, metric, 1.0, np.inf, None, None)
        assert (ids.tolist(), sums.tolist()) == ([0, 1, 2], [0.0, 0.0, 0.0])


def test_threads_that_cannot_be_had_are_done_without(monkeypatch: pytest.MonkeyPatch) -> None:
    start, given = _thread.start_new_thread, []

    def one_only(*arguments) -> int:
        if given:
            raise RuntimeError("can't start new thread")
        given.append(1)
        return start(*arguments)

    monkeypatch.setattr(_thread, "start_new_thread", one_only)
    assert over_items(range(50), lambda i: i * i, threads=8) == [i * i for i in range(50)]
