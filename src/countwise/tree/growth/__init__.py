"""Growing trees, level by level, wherever the rows are."""
