"""Parzen densities of whole rows, and the classifier that they make."""
