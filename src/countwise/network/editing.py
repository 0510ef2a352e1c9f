"""A fitted network with one arc more, or one variable more: only the families that change are counted anew."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np

from countwise.base.term import blank_tallies, derive_checked
from countwise.data.attributes import Nominal
from countwise.data.frames import Frame, frame_of
from countwise.data.schema import Schema
from countwise.errors import OptionError, TableError, listed
from countwise.network.engine import Relating
from countwise.network.graph import Graph
from countwise.sources import Memory, open_rows
from countwise.tallies import fill_all

__all__ = ["Extending"]


class Extending(Relating):
    """Networks that grow after they were fitted."""

    def add_arc(self, parent: str, child: str, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Let a node depend on one more, and learn its law anew from rows; all else stays.

        Parameters
        ----------
        parent, child : str
            The arc.
        X, y, sample_weight
            Rows, as for `fit`. Those in which the child and all its parents are there count.

        Returns
        -------
        self
        """
        self._check_fitted()
        graph = self.graph_.with_arc(*self.graph_.known([parent, child]))
        return self._extended(graph, self.schema_, [child], X, y, sample_weight)

    def remove_arc(self, parent: str, child: str, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Let a node depend on one less, and learn its law anew from rows; all else stays.

        Parameters
        ----------
        parent, child : str
            The arc.
        X, y, sample_weight
            As for `add_arc`.

        Returns
        -------
        self
        """
        self._check_fitted()
        if (parent, child) not in self.graph_.arcs:
            raise OptionError(
                f"There is no arc {parent} → {child}.",
                hint=f"arcs into {child!r}: {listed(self.graph_.parents.get(child, ())) or 'none'}.",
            )
        graph = self.graph_.without_arc(parent, child)
        return self._extended(graph, self.schema_, [child], X, y, sample_weight)

    def add_node(
        self,
        name: str,
        X: Any,
        y: Any = None,
        *,
        parents: Iterable[str] = (),
        children: Iterable[str] = (),
        sample_weight: Any = None,
    ) -> Self:
        """Add a variable to a fitted network; what was learned of the others stays.

        Parameters
        ----------
        name : str
            A column of X that the network does not know yet.
        X, y, sample_weight
            Rows with all columns of the network and the new one.
        parents, children : iterable of str
            What it depends on, and what depends on it. Laws of the children are learned anew.

        Returns
        -------
        self
        """
        self._check_fitted()
        if name in self.graph_:
            raise OptionError(f"There is a node {name!r} already.", hint="add_arc adds what it depends on.")
        above = [parents] if isinstance(parents, str) else list(parents)
        below = [children] if isinstance(children, str) else list(children)
        self.graph_.known([*above, *below])
        frame = frame_of(X) if not isinstance(X, Frame) else X
        if name not in frame.columns:
            raise TableError(f"The table lacks the column {name!r}.", hint=f"it has {listed(frame.columns)}.")
        column = {name: frame.columns[name]}
        types = self.types if isinstance(self.types, dict) and name in self.types else {}
        one = Frame(column, frame.n_rows, named=True)
        fresh = Schema.kinds(one, {k: v for k, v in types.items() if k == name} or None).learn(one)
        schema = Schema([*self.schema_.attributes, *fresh.attributes])
        tree = {**self.graph_.parents, name: tuple(above)}
        for child in below:
            tree[child] = (*tree[child], name)
        return self._extended(Graph(tree), schema, [name, *below], frame, y, sample_weight)

    def _extended(
        self, graph: Graph, schema: Schema, changed: Sequence[str], X: Any, y: Any, sample_weight: Any
    ) -> Self:
        with self._restore_on_error():
            self.graph_, self.schema_ = graph, schema
            self.n_features_in_ = len(schema)
            if hasattr(self, "feature_names_in_"):
                self.feature_names_in_ = np.array(list(schema), dtype=object)
            self._check_laws(graph, schema)
            total: dict[str, Any] = {}
            for rows in open_rows(self._coerce_input(X), y, sample_weight, needs_target=self._needs_target()):
                for name, tally in self._recounted(rows, changed).items():
                    total[name] = total[name] + tally if name in total else tally
            self.tallies_ = {**self.tallies_, **total}
            self.found_ = None if self.found_ is None else replace(self.found_, graph=graph)
            self._estimate()
        return self

    def _check_laws(self, graph: Graph, schema: Schema) -> None:
        """Laws of new numbers; a number that names would depend on must be held by its ranges already."""
        laws = self._first_laws(Graph(dict.fromkeys(graph, ())), schema)
        self._laws = {**laws, **self._laws}
        for parent, child in graph.arcs:
            if not self._may(self._laws, parent, child):
                raise OptionError(
                    f"{child!r} cannot depend on the number {parent!r}, which is not held by its ranges.",
                    hint=f"fit anew with distributions={{{parent!r}: 'ranges'}}.",
                )

    def _recounted(self, rows: Memory, changed: Sequence[str]) -> dict[str, Any]:
        target = Nominal(self.target_.name, self.target_.values, grows=False)
        codes = target.encode(rows.target, strict=True)
        frame = self.schema_.match(rows.frame)
        table = self.schema_.encode(frame, rows.weights, strict=True).with_column(target.name, codes)
        parts = self._parts_over(self.schema_, self.target_)
        wanted = {name: tally for name, tally in blank_tallies(parts, self.target_).items() if name in changed}
        return fill_all(wanted, derive_checked(table, parts))
