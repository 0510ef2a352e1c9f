"""The working of a prediction by a network: one factor for each family, and sums over missing values."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from countwise._typing import Floats
from countwise.data.attributes import Nominal
from countwise.data.cells import cell_of, shown_cell
from countwise.data.frames import Frame
from countwise.data.table import Table
from countwise.data.text import Text
from countwise.errors import listed
from countwise.network.linear_gaussian import LinearDensity
from countwise.working import Factor, Step, Working
from countwise.working.numbers import cell, normal, probability

__all__ = ["SUMMED", "NetworkWorking"]

SUMMED = "summed over the missing values"  # rule of the factor of several families


class NetworkWorking:
    """The working of one prediction by a network, from the encoded row (`table`) and the original row (`one`)."""

    def __init__(self, model: Any, table: Table, one: Frame) -> None:
        self.model, self.table, self.one = model, table, one
        self.net, self.lookups = model.net_, model.lookups_
        self.target, self.n_classes = model.target_.name, len(model.classes_)
        self.gone = self._gone()
        self.hidden = self._hidden()

    def finished(self, working: Working) -> Working:
        """Return the working with the family of the class first, and without factors common to all classes."""
        own = [step for step in working.steps if step.attribute == self.target]
        if own:  # the parents of the class are observed: its family is the first factor
            working = replace(working, prior=own[0], steps=tuple(s for s in working.steps if s is not own[0]))
        joint = self._joint()
        shift = self._common() if len(self.lookups.open_rows(self.table)) else np.zeros(1)
        return replace(working, log_joint=tuple((joint - shift).tolist()))

    def _joint(self) -> Floats:
        joint = self.model._priors(1).copy()
        self.model._add_terms(self.table, joint, whole=False)
        found: Floats = joint[0]
        return found

    def _common(self) -> Floats:
        """Return the log of the factors that do not depend on the class; the steps do not contain them."""
        common = np.zeros((1, 1))
        for name in self.lookups.others:
            if name not in self.hidden:
                out = np.zeros((1, self.n_classes))
                self.lookups.add(self.table, out, only=name)
                common += out[:, :1]
        return common[0]

    def _gone(self) -> set[str]:
        """Return the nodes whose value is missing or was never seen in training."""
        net, table = self.net, self.table
        sizes = net.sizes()
        gone = {n for n in net.tables if n != self.target and int(table[n][0]) >= sizes[n]}
        numbers = [n for n in net.densities if isinstance(table[n], np.ndarray)]
        return gone | {n for n in numbers if np.isnan(float(table[n][0]))}

    def _hidden(self) -> dict[str, set[str]]:
        """Return the observed or summed-out nodes, with the relevant missing values in their families."""
        graph, gone = self.net.graph, self.gone
        below = graph.ancestors([n for n in graph if n not in gone])  # including the class
        open_nodes = {n for n in gone if n in below}
        found = {}
        for name in graph:
            if name in gone and name not in open_nodes:
                continue
            missing = {v for v in (*graph.parents[name], name) if v in open_nodes}
            if missing:
                found[name] = missing
        return found

    def steps(self) -> tuple[list[Step], list[str]]:
        """Return a factor for each family with the class, one for everything that is summed out, and notes."""
        graph, gone, hidden = self.net.graph, self.gone, self.hidden
        table, one, target = self.table, self.one, self.target
        steps: list[Step] = []
        notes: list[str] = []
        total = np.zeros(self.n_classes)
        for name in graph:
            if name == target and not graph.parents[name]:
                continue
            if name in gone and name not in hidden:
                unseen = isinstance(a := self.net.attributes[name], Nominal) and int(table[name][0]) == a.unseen
                shown = shown_cell(one.columns[name])
                steps.append(Step(name, shown, (), "never seen" if unseen else "missing"))
            elif name not in hidden and (name == target or target in graph.parents[name]):
                made = self._step_of(name)
                steps += made
                total += [sum(step.factors[c].log for step in made if step.factors) for c in range(len(total))]
            notes += self._unseen_words(name)
        if hidden:
            step, note = self._summed(total)
            steps.append(step)
            notes.append(note)
        return steps, notes

    def _unseen_words(self, name: str) -> list[str]:
        a = self.net.attributes[name]
        if not isinstance(a, Text):
            return []
        unknown = a.unknown(cell_of(self.one.columns[name]) or "")
        return [f"{listed(unknown)} in {name!r}: never seen in training, ignored."] if unknown else []

    def _combos(self, name: str) -> list[int]:
        """Return the combination of the nominal parents' values for each class."""
        sizes = self.net.sizes()
        found = []
        for c in range(self.n_classes):
            key = 0
            for parent in self.net.graph.parents[name]:
                if parent in sizes:
                    key = key * sizes[parent] + (c if parent == self.target else int(self.table[parent][0]))
            found.append(key)
        return found

    def _given(self, name: str) -> str:
        parts, table = [], self.table
        for parent in self.net.graph.parents[name]:
            if parent == self.target:
                continue
            a = self.net.attributes[parent]
            shown = a.values[int(table[parent][0])] if isinstance(a, Nominal) else cell(float(table[parent][0]))
            parts.append(f"{parent} = {shown}")
        return ", ".join(parts)

    def _step_of(self, name: str) -> list[Step]:
        """Return the factor of one family, for each class."""
        density, table = self.model.densities_[name], self.table
        given, classes = self._given(name), range(self.n_classes)
        if name == self.target:
            combo = self._combos(name)[0]
            factors = tuple(density._factors(c)[combo] for c in classes)
            return [Step(name, "", factors, "known", density.rule, given=given)]
        combos = self._combos(name)
        if name in self.net.tables:
            code = int(table[name][0])
            shown = str(density.of.values[code])
            every = density._factors(code)
            factors = tuple(every[combos[c]] for c in classes)
            return [Step(name, shown, factors, "known", density.rule, given=given)]
        shown = shown_cell(self.one.columns[name])
        if isinstance(density, LinearDensity):
            return [self._line_step(name, density, combos, shown, given)]
        made = density.steps(name, table[name], shown)
        return [
            replace(s, factors=tuple(s.factors[c] for c in combos), given=given) if s.factors else s for s in made
        ]

    def _line_step(self, name: str, line: LinearDensity, combos: list[int], shown: str, given: str) -> Step:
        if line.constant:
            return Step(name, shown, (), "constant", "linear Gaussian")
        y = float(self.table[name][0])
        x = np.array([float(self.table[p][0]) for p in line.numbers])
        factors = []
        for combo in combos:
            with np.errstate(over="ignore", invalid="ignore"):
                mean, sd = float(line.intercept[combo] + line.slope[combo] @ x), float(line.sd[combo])
            log = float(line.log_prob(np.array([y]), list(x[:, None]), np.array([combo]))[0])
            factors.append(Factor(log, *normal(y, mean, sd), None, None, float(line.n[combo])))
        rule = "linear Gaussian" if line.numbers else "Gaussian"
        return Step(name, shown, tuple(factors), "known", rule, given=given)

    def _summed(self, total: Floats) -> tuple[Step, str]:
        """Return one factor for all families with missing values, summed over these values."""
        hidden, one, prior = self.hidden, self.one, self.model.log_prior_
        first = not self.net.graph.parents[self.target] or self.target in hidden
        with np.errstate(invalid="ignore"):
            logs = self._joint() - self._common() - (prior if first else np.zeros_like(prior)) - total
        logs = np.where(np.isnan(logs), -np.inf, logs)
        observed = [n for n in self.net.graph if n in hidden and n not in self.gone]
        missing = sorted({v for some in hidden.values() for v in some})
        texts = [probability(float(log)) for log in logs]
        factors = tuple(Factor(float(log), text, text) for log, text in zip(logs, texts, strict=True))
        one_missing, one_observed = len(missing) == 1, len(observed) == 1
        note = (
            f"{listed(missing)} {'is' if one_missing else 'are'} missing, and {listed(observed)} "
            f"depend{'s' * one_observed} on {'it' if one_missing else 'them'}: the product of their factors is "
            f"summed over the values of {listed(missing)}."
        )
        shown = [f"{n} = {shown_cell(one.columns[n])}" for n in observed if n != self.target]
        return Step(", ".join(shown or missing), "", factors, "known", SUMMED), note
