"""Inference: factors, elimination, junction trees, sampling, many rows at once."""
