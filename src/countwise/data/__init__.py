"""Input tables: columns, attributes, schemas, encoded tables and derived columns."""
