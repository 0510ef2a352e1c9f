"""Tables as users hold them, opened once: columns, attributes, schema, encoded tables, derived columns."""
