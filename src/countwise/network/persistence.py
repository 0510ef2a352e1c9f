"""Networks merged, made to forget, and kept in files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from countwise.base.term import blank_tallies
from countwise.errors import OptionError, ReadError, TableError
from countwise.jsonfile import write_whole
from countwise.network.base import Networking
from countwise.network.bif import read_bif, write_bif
from countwise.network.em import Learned
from countwise.network.families import FamilyTally
from countwise.network.graph import Graph
from countwise.network.net import Net
from countwise.network.search.trees import FoundStructure
from countwise.sources import EnginePart, Memory
from countwise.tallies import tally_from

__all__ = ["Keeping", "NetworkFiles"]


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

    def _subtract_rows(self, rows: Memory | EnginePart) -> None:
        if self.em_ is not None:
            raise TableError(
                "Rows cannot be taken back from what EM has filled.", hint="fit again, or missing='available'."
            )
        super()._subtract_rows(rows)

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
        self.found_ = None if score is None else FoundStructure(self.graph_, float(score), tried)
        self._revive_tallies(state["tallies"])
        self.em_ = None
        if state["em"] is not None:
            self.em_ = Learned(self.tallies_, [float(v) for v in state["em"][0]], float(state["em"][1]))
        self._estimate()

    def _revive_tallies(self, data: Mapping[str, Any]) -> None:
        parts = self._parts_over(self.schema_, self.target_)
        attributes: dict[str, Any] = {self.target_.name: self.target_, **{p.key: p.of for p in parts}}
        fresh = blank_tallies(parts, self.target_)
        self.tallies_ = {
            name: blank.read(data[name]) if isinstance(blank, FamilyTally) else tally_from(data[name], attributes)
            for name, blank in fresh.items()
        }


class NetworkFiles:
    """Reading and writing of networks."""

    graph_: Graph
    net_: Net
    _check_fitted: Any

    # -- files ---------------------------------------------------------------------------------

    @classmethod
    def read_bif(cls, path: str | os.PathLike[str], **settings: Any) -> Self:
        """A network from a file in the interchange format BIF.

        Parameters
        ----------
        path : str or path
            The file.
        **settings
            Of the network, for a later `fit`.

        Returns
        -------
        BayesNetwork
        """
        place = Path(path)
        try:
            text = place.read_text(encoding="utf-8")
        except OSError as error:
            raise ReadError(f"{place} cannot be read: {error.strerror}.") from None
        except UnicodeDecodeError:
            raise ReadError(f"{place} is no text in UTF-8, so no BIF file.") from None
        read = read_bif(text, str(place))
        nodes = {name: list(values) for name, values in read.values.items()}
        arcs = [(p, c) for c, above in read.parents.items() for p in above]
        tables = {name: {"table": table.tolist(), "rows": None} for name, table in read.tables.items()}
        drawn: dict[str, Any] = {"nodes": nodes, "arcs": arcs, "tables": tables}
        return cls(**drawn, **settings)

    def write_bif(self, path: str | os.PathLike[str], name: str = "network") -> None:
        """Write the network to a BIF file, with every digit; only names can be written.

        Parameters
        ----------
        path : str or path
            Where to.
        name : str, default="network"
            What the network is called in it.
        """
        self._check_fitted()
        odd = [node for node in self.graph_ if node not in self.net_.tables]
        if odd:
            raise OptionError(f"{odd[0]!r} is a number; BIF holds names.", hint="countwise.save writes all kinds.")
        values = {node: tuple(map(str, self.net_.attributes[node].values)) for node in self.graph_}  # type: ignore[attr-defined]
        write_whole(Path(path), write_bif(name, values, self.graph_.parents, self.net_.tables).encode())

    def to_networkx(self) -> Any:
        """The network as a networkx graph: a node each, with its values and table, and an arc each."""
        try:
            import networkx
        except ImportError:
            raise OptionError("networkx is not installed.", hint="pip install networkx.") from None
        self._check_fitted()
        graph = networkx.DiGraph()
        for node in self.graph_:
            a = self.net_.attributes[node]
            if node in self.net_.tables:
                graph.add_node(node, values=a.values, table=self.net_.tables[node], parents=self.graph_.parents[node])  # type: ignore[attr-defined]
            else:
                graph.add_node(node, kind=a.kind, parents=self.graph_.parents[node])
        graph.add_edges_from(self.graph_.arcs)
        return graph
