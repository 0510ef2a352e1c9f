"""Networks merged, made to forget, and kept in files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from countwise.errors import TableError
from countwise.models._network_base import Networking
from countwise.network.em import Learned
from countwise.network.families import FamilyTally
from countwise.network.graph import Graph
from countwise.network.structure import Found
from countwise.parts import blanks
from countwise.sources import Memory
from countwise.tallies import tally_from

__all__ = ["Keeping"]


class Keeping(Networking):
    """What of a network is kept, joined and taken back."""

    def __add__(self, other: object) -> Self:
        if type(other) is type(self):
            for model in (self, other):
                model._check_fitted(answers=False)
                if model.em_ is not None:
                    raise TableError(
                        "Networks whose gaps were filled by EM cannot be merged: EM must see all rows.",
                        hint="missing='available' counts what is there.",
                    )
            if self.graph_ != other.graph_ or self.cuts_ != other.cuts_:
                raise TableError(
                    "The networks differ in structure, or in the ranges of their numbers.",
                    hint="give both the structure of one: structure=other.graph_.",
                )
        return super().__add__(other)

    def _adopt(self, other: Self) -> None:
        super()._adopt(other)
        for name in ("graph_", "cuts_", "found_", "em_", "_laws"):
            setattr(self, name, getattr(other, name))

    def _take_back(self, rows: Memory) -> None:
        if self.em_ is not None:
            raise TableError(
                "Rows cannot be taken back from what EM has filled.", hint="fit again, or missing='available'."
            )
        super()._take_back(rows)

    def _state(self) -> dict[str, Any]:
        found = self.found_
        return {
            **super()._state(),
            "parents": {name: list(above) for name, above in self.graph_.parents.items()},
            "cuts": {name: list(edges) for name, edges in self.cuts_.items()},
            "score": None if found is None else found.score,
            "tried": [] if found is None else [[p, c, g, bool(t)] for p, c, g, t in found.tried],
            "em": None if self.em_ is None else [self.em_.log_likelihoods, self.em_.moved],
        }

    def _revive(self, state: Mapping[str, Any]) -> None:
        self._known_target = bool(state.get("known", True))
        if state.get("library") in ("pandas", "polars", "pyarrow", "mapping"):
            self._library = state["library"]
        self.graph_ = Graph({str(n): tuple(map(str, above)) for n, above in state["parents"].items()})
        self.cuts_ = {str(n): tuple(map(float, edges)) for n, edges in state["cuts"].items()}
        self._laws = self._first_laws(self.graph_, self.schema_)
        for name in self.cuts_:
            self._laws[name] = self._cutting()
        tried = [(str(p), str(c), float(g), bool(t)) for p, c, g, t in state["tried"]]
        score = state["score"]
        self.found_ = None if score is None else Found(self.graph_, float(score), tried)
        self._revive_tallies(state["tallies"])
        self.em_ = None
        if state["em"] is not None:
            self.em_ = Learned(self.tallies_, [float(v) for v in state["em"][0]], float(state["em"][1]))
        self._settle()

    def _revive_tallies(self, data: Mapping[str, Any]) -> None:
        parts = self._parts_over(self.schema_, self.target_)
        attributes: dict[str, Any] = {self.target_.name: self.target_, **{p.key: p.of for p in parts}}
        fresh = blanks(parts, self.target_)
        self.tallies_ = {
            name: blank.read(data[name]) if isinstance(blank, FamilyTally) else tally_from(data[name], attributes)
            for name, blank in fresh.items()
        }
