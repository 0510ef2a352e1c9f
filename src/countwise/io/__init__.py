"""Readers of CSV, Parquet and ARFF files."""
