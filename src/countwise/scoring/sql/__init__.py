"""A fitted model as a query that needs no Python.

Every query reads a table in steps that have names: its cells made ready, what is added up or where a row comes to,
and the answer. Values and names of columns are quoted: they are data, whatever they hold.
"""

from countwise.scoring.sql.additive import scoring_query
from countwise.scoring.sql.tree import choice_expression, choice_query, range_query, rule_query

__all__ = ["choice_expression", "choice_query", "range_query", "rule_query", "scoring_query"]
