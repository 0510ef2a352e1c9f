"""A fuzzer: random tables, files, schemas and command lines, and what may come of them.

`make fuzz SECONDS=1800 SEED=1` runs it by hand. `tests/faults/test_fuzz.py` runs a fixed share of it.
"""
