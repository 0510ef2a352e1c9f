"""Engine tables (DuckDB, Polars, Dask, Spark, Ibis): tallies computed with group-by queries."""
