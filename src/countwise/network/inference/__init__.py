"""Inference: factors, variable elimination, junction trees, sampling, and batches of rows."""
