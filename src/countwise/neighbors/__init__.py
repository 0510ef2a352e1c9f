"""Distances between rows of mixed tables: a local distance for each attribute, and how they are combined."""
