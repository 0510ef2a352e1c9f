"""Naive Bayes classifier for mixed columns."""
