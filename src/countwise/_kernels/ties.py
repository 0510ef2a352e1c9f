"""The difference below which two scores of a row are equal; `tie` in the C++ kernels."""

__all__ = ["TIE"]

TIE = 1e-12  # log-probabilities or probabilities: larger than rounding errors, smaller than any estimate is accurate
