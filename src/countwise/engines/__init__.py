"""Tables that an engine holds: relations, and tallies by group-by."""
