"""Strategies and generators of tables, names, files and settings that several folders of tests use."""
