"""Predictions in engines and as SQL queries, from a plain description of the model."""
