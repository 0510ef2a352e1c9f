"""Naive Bayes over mixed columns."""
