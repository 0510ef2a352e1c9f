"""The compiled kernel that codes strings against the one in Python, which is its specification."""

from __future__ import annotations

import numpy as np
import pytest

from countwise._kernels import reference

try:
    from countwise._kernels import _native as native
except ImportError:
    pytest.skip("the compiled kernels are absent", allow_module_level=True)

KERNELS = [native, reference]


def laid(texts: list[bytes], kind: type = np.int32) -> tuple[np.ndarray, np.ndarray]:
    offsets = np.concatenate([[0], np.cumsum([len(text) for text in texts])]).astype(kind)
    return offsets, np.frombuffer(b"".join(texts), dtype=np.uint8)


def check(texts: list[bytes]) -> None:
    for kind in (np.int32, np.int64):
        offsets, letters = laid(texts, kind)
        codes, rows = native.factorize_strings(offsets, letters, 1 << 20)
        wanted, at = reference.factorize_strings(offsets, letters, 1 << 20)
        assert codes.dtype == wanted.dtype == np.int32
        assert codes.tolist() == wanted.tolist()
        assert list(rows) == at


@pytest.mark.parametrize("longest", [1, 3, 4, 7, 8, 9, 15, 16, 17, 40])
def test_strings_of_all_lengths_are_coded_as_in_the_reference(longest: int) -> None:
    rng = np.random.default_rng(longest)
    few = [bytes(rng.integers(97, 100, int(n)).astype(np.uint8)) for n in rng.integers(0, longest + 1, 300)]
    check([few[i] for i in rng.integers(0, len(few), 3000)])


def test_strings_that_differ_in_one_byte_only_are_told_apart() -> None:
    for length in (1, 3, 4, 5, 8, 12, 16, 17, 24, 33):
        whole = bytearray(b"x" * length)
        texts = [bytes(whole)]
        for i in range(length):
            other = whole.copy()
            other[i] = 0
            texts.append(bytes(other))
        check([*texts, *texts[::-1], b"", b"\0", b"\0\0", b"x" * (length + 1)])


def test_many_strings_and_none_are_coded() -> None:
    check([str(i * i).encode() for i in range(5000)] * 2)
    check([])
    check([b""])


@pytest.mark.parametrize("kernels", KERNELS)
def test_part_of_the_letters_may_be_coded(kernels) -> None:
    offsets, letters = laid([b"no", b"yes", b"no", b"maybe"], np.int64)
    codes, rows = kernels.factorize_strings(offsets[1:], letters, 10)
    assert (codes.tolist(), list(rows)) == ([0, 1, 2], [0, 1, 2])
    assert kernels.factorize_strings(offsets, letters, 3) is not None
    assert kernels.factorize_strings(offsets, letters, 2) is None


@pytest.mark.parametrize("kernels", KERNELS)
def test_offsets_that_cannot_be_are_refused(kernels) -> None:
    letters = np.zeros(4, np.uint8)
    for odd in ([0, 5], [2, 1], [-1, 2], []):
        with pytest.raises(ValueError, match="offsets"):
            kernels.factorize_strings(np.array(odd, np.int32), letters, 10)
    with pytest.raises(TypeError, match="offsets"):
        kernels.factorize_strings(np.zeros(2), letters, 10)
    with pytest.raises(TypeError, match="offsets"):
        kernels.factorize_strings(np.zeros(4, np.int32)[::2], letters, 10)
    with pytest.raises(TypeError, match="letters"):
        kernels.factorize_strings(np.zeros(2, np.int32), np.zeros(4), 10)
