"""A fitted model as a query that needs no Python.

Every query reads a table in steps that have names: its cells made ready, what is added up or where a row comes to,
and the answer. Values and names of columns are quoted: they are data, whatever they hold.
"""

from countwise.sql.choices import choice_expression, choice_query
from countwise.sql.ranges import range_query
from countwise.sql.rules import rule_query
from countwise.sql.sums import scoring_query

__all__ = ["choice_expression", "choice_query", "range_query", "rule_query", "scoring_query"]
