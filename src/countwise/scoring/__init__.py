"""Predictions as plain terms, computed by engines or written as SQL."""
