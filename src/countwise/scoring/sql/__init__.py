"""Fitted models as SQL queries.

A query consists of common table expressions: one prepares the columns, others add up the terms or find the leaf of
each row, and the last SELECT returns the prediction. Values and column names are quoted, whatever characters they
contain.
"""

from countwise.scoring.sql.additive import scoring_query
from countwise.scoring.sql.tree import choice_expression, choice_query, range_query, rule_query

__all__ = ["choice_expression", "choice_query", "range_query", "rule_query", "scoring_query"]
