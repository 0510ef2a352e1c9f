"""Gaussian discriminants: one normal distribution of whole rows for each class."""
