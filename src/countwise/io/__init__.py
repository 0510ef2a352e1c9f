"""Files as columns: CSV, Parquet, ARFF."""
