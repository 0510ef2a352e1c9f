"""Case-based reasoning: solve new problems by adapting the solutions of similar past cases."""

from countwise.cases.answer import CaseAnswer
from countwise.cases.base import CaseBase
from countwise.cases.case import Case, Match
from countwise.cases.graphs import GraphSimilarity
from countwise.cases.records import RecordField, RecordSimilarity
from countwise.cases.sets import SetSimilarity
from countwise.cases.similarities import (
    EqualSimilarity,
    NumberSimilarity,
    Similarity,
    StringSimilarity,
    TableSimilarity,
)
from countwise.cases.taxonomy import TaxonomySimilarity
from countwise.cases.values import LabeledGraph

__all__ = [
    "Case",
    "CaseAnswer",
    "CaseBase",
    "EqualSimilarity",
    "GraphSimilarity",
    "LabeledGraph",
    "Match",
    "NumberSimilarity",
    "RecordField",
    "RecordSimilarity",
    "SetSimilarity",
    "Similarity",
    "StringSimilarity",
    "TableSimilarity",
    "TaxonomySimilarity",
]
