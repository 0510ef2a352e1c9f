"""Parzen (kernel) densities of whole rows, and the classifier based on them."""
