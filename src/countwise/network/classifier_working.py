"""The working of a class told by a network: a factor for each family, and sums over what is missing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from countwise._typing import Floats
from countwise.base.classifier import AdditiveClassifier
from countwise.data.attributes import Nominal
from countwise.data.cells import cell_of, shown_cell
from countwise.data.frames import Frame
from countwise.data.table import Table
from countwise.data.text import Text
from countwise.distributions.categorical import CategoricalDensity
from countwise.errors import listed
from countwise.network.classifier_terms import FamilyLookups
from countwise.network.linear_gaussian import LinearDensity
from countwise.network.net import Net
from countwise.working import Factor, Step, Working
from countwise.working.numbers import number, probability

__all__ = ["ClassWorking"]


class ClassWorking(AdditiveClassifier):
    """Explanations of a class that a network tells."""

    net_: Net
    lookups_: FamilyLookups
    densities_: dict[str, Any]

    def _worked(self, table: Table, one: Frame) -> Working:
        working = super()._worked(table, one)
        own = [step for step in working.steps if step.attribute == self.target_.name]
        if own:  # what the class depends on is known: its own family is the first factor
            working = replace(working, prior=own[0], steps=tuple(s for s in working.steps if s is not own[0]))
        joint = self._priors(1).copy()
        self._add_terms(table, joint, whole=False)
        shift = np.zeros(1)
        if len(self.lookups_.open_rows(table)):
            shift = self._common(table)
        return replace(working, log_joint=tuple((joint[0] - shift).tolist()))

    def _common(self, table: Table) -> Floats:
        """What the whole has, and the steps have not: families that the class is not in."""
        common = np.zeros((1, 1))
        for name in self.lookups_.others:
            if name not in self._hidden(table):
                out = np.zeros((1, len(self.classes_)))
                self.lookups_.add(table, out, only=name)
                common += out[:, :1]
        return common[0]

    def _gone(self, table: Table) -> set[str]:
        """The nodes that are missing in a one-row table, or have a value never seen."""
        net = self.net_
        sizes = net.sizes()
        gone = {n for n in net.tables if n != self.target_.name and int(table[n][0]) >= sizes[n]}
        numbers = [n for n in net.densities if isinstance(table[n], np.ndarray)]
        return gone | {n for n in numbers if np.isnan(float(table[n][0]))}

    def _hidden(self, table: Table) -> dict[str, set[str]]:
        """Nodes that are there or must be summed out, and whose family has a gap that matters: which gaps."""
        graph, gone = self.net_.graph, self._gone(table)
        below = graph.ancestors([n for n in graph if n not in gone])  # the class among them: it may depend on a gap
        open_nodes = {n for n in gone if n in below}
        found = {}
        for name in graph:
            if name in gone and name not in open_nodes:
                continue
            lost = {v for v in (*graph.parents[name], name) if v in open_nodes}
            if lost:
                found[name] = lost
        return found

    def _prior_step(self) -> Step:
        parents = self.net_.graph.parents[self.target_.name]
        if not parents:
            step: Step = super()._prior_step()
            return step
        logs = [float(log) for log in self.log_prior_]
        factors = tuple(Factor(log, probability(log), probability(log)) for log in logs)
        return Step(self.target_.name, "", factors, "known", "prior")

    def _steps(self, table: Table, one: Frame) -> tuple[list[Step], list[str]]:
        graph, gone, hidden = self.net_.graph, self._gone(table), self._hidden(table)
        target = self.target_.name
        steps: list[Step] = []
        notes: list[str] = []
        total = np.zeros(len(self.classes_))
        for name in graph:
            if name == target and not graph.parents[name]:
                continue
            if name in gone and name not in hidden:
                unseen = isinstance(a := self.net_.attributes[name], Nominal) and int(table[name][0]) == a.unseen
                shown = shown_cell(one.columns[name])
                steps.append(Step(name, shown, (), "never seen" if unseen else "missing"))
            elif name not in hidden and (name == target or target in graph.parents[name]):
                made = self._step_of(name, table, one)
                steps += made
                total += [sum(step.factors[c].log for step in made if step.factors) for c in range(len(total))]
            notes += self._unknown_words(name, one)
        if hidden:
            step, note = self._summed(table, one, hidden, gone, total)
            steps.append(step)
            notes.append(note)
        return steps, notes

    def _unknown_words(self, name: str, one: Frame) -> list[str]:
        a = self.net_.attributes[name]
        if not isinstance(a, Text):
            return []
        unknown = a.unknown(cell_of(one.columns[name]) or "")
        return [f"{listed(unknown)} in {name!r}: never seen in training, left out."] if unknown else []

    def _combos(self, name: str, table: Table) -> list[int]:
        """The combination of the nominal parents' values, for each class."""
        sizes = self.net_.sizes()
        target = self.target_.name
        found = []
        for c in range(len(self.classes_)):
            key = 0
            for parent in self.net_.graph.parents[name]:
                if parent in sizes:
                    key = key * sizes[parent] + (c if parent == target else int(table[parent][0]))
            found.append(key)
        return found

    def _given(self, name: str, table: Table, one: Frame) -> str:
        target = self.target_.name
        parts = []
        for parent in self.net_.graph.parents[name]:
            if parent == target:
                continue
            a = self.net_.attributes[parent]
            shown = a.values[int(table[parent][0])] if isinstance(a, Nominal) else number(float(table[parent][0]))
            parts.append(f"{parent} = {shown}")
        return ", ".join(parts)

    def _step_of(self, name: str, table: Table, one: Frame) -> list[Step]:
        """The factor of one family, for each class."""
        density = self.densities_[name]
        given = self._given(name, table, one)
        classes = range(len(self.classes_))
        if name == self.target_.name:
            combo = self._combos(name, table)[0]
            factors = tuple(density._factors(c)[combo] for c in classes)
            return [Step(name, "", factors, "known", density.rule, given=given)]
        combos = self._combos(name, table)
        if isinstance(density, CategoricalDensity):
            code = int(table[name][0])
            shown = str(density.of.values[code])
            factors = tuple(density._factors(code)[combos[c]] for c in classes)
            return [Step(name, shown, factors, "known", density.rule, given=given)]
        shown = shown_cell(one.columns[name])
        if isinstance(density, LinearDensity):
            return [self._line_step(name, density, combos, table, shown, given)]
        made = density.steps(name, table[name], shown)
        return [
            replace(s, factors=tuple(s.factors[c] for c in combos), given=given) if s.factors else s for s in made
        ]

    def _line_step(
        self, name: str, line: LinearDensity, combos: list[int], table: Table, shown: str, given: str
    ) -> Step:
        if line.constant:
            return Step(name, shown, (), "constant", "linear Gaussian")
        y = float(table[name][0])
        x = np.array([float(table[p][0]) for p in line.numbers])
        factors = []
        for combo in combos:
            mean, sd = float(line.intercept[combo] + line.slope[combo] @ x), float(line.sd[combo])
            log = float(-0.5 * ((y - mean) / sd) ** 2 - np.log(sd) - 0.5 * np.log(2 * np.pi))
            text = f"φ({number(y)}; {number(mean)}, {number(sd)})"
            latex = rf"\varphi({number(y)};\,{number(mean)},\,{number(sd)})"
            factors.append(Factor(log, text, latex, None, None, float(line.n[combo])))
        rule = "linear Gaussian" if line.numbers else "Gaussian"
        return Step(name, shown, tuple(factors), "known", rule, given=given)

    def _summed(
        self, table: Table, one: Frame, hidden: dict[str, set[str]], gone: set[str], total: Floats
    ) -> tuple[Step, str]:
        """One factor for all that hangs on what is missing: summed over its values."""
        joint = self._priors(1).copy()
        self._add_terms(table, joint, whole=False)
        target = self.target_.name
        first = not self.net_.graph.parents[target] or target in hidden
        start = self.log_prior_ if first else np.zeros_like(self.log_prior_)
        with np.errstate(invalid="ignore"):
            logs = joint[0] - self._common(table) - start - total
        logs = np.where(np.isnan(logs), -np.inf, logs)
        there = [n for n in self.net_.graph if n in hidden and n not in gone]
        lost = sorted({v for some in hidden.values() for v in some})
        texts = [probability(float(log)) for log in logs]
        factors = tuple(Factor(float(log), text, text) for log, text in zip(logs, texts, strict=True))
        note = (
            f"{listed(lost)} {'is' if len(lost) == 1 else 'are'} missing; {listed(there)} "
            f"depend{'s' * (len(there) == 1)} on {'it' if len(lost) == 1 else 'them'}, "
            f"so the factors are multiplied and summed over {'its' if len(lost) == 1 else 'their'} values."
        )
        shown = ", ".join(f"{n} = {shown_cell(one.columns[n])}" for n in there if n != target) or ", ".join(lost)
        return Step(shown, "", factors, "known", "summed over what is missing"), note
