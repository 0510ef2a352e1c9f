"""Networks in the files and forms of others: BIF, networkx."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Self

from countwise.errors import OptionError, ReadError
from countwise.network.bif import read_bif, write_bif
from countwise.network.graph import Graph
from countwise.network.net import Net
from countwise.plainfile import write_whole

__all__ = ["NetworkFiles"]


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
