"""Tree growth, one level at a time, from memory, from a file or in an engine."""
