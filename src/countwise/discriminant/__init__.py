"""Gaussian discriminant analysis: a normal distribution of whole rows for each class."""
