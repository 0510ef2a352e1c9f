"""Models, one a file."""

from countwise.models.naive_bayes import NaiveBayesClassifier

__all__ = ["NaiveBayesClassifier"]
