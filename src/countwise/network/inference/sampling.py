"""Approximate inference by sampling: likelihood weighting and Gibbs sampling, with standard errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from countwise._typing import Floats, Indices
from countwise.errors import OptionError
from countwise.network.graph import Graph

__all__ = ["SampledEstimate", "forward", "gibbs", "likelihood_weighting"]

Codes = dict[str, Indices]


@dataclass(frozen=True, slots=True)
class SampledEstimate:
    """The estimated P(value | evidence) of each value, its standard error, and the effective sample size."""

    probabilities: Floats
    errors: Floats
    effective: float


def forward(
    graph: Graph,
    tables: Mapping[str, Floats],
    n: int,
    rng: np.random.Generator,
    known: Mapping[str, int] | None = None,
) -> tuple[Codes, Floats]:
    """Draw rows node by node, parents first; return their codes and log P(known | drawn values) of each row."""
    known = known or {}
    codes: Codes = {}
    log = np.zeros(n)
    for node in graph.order():
        rows = tables[node][tuple(codes[parent] for parent in graph.parents[node])]
        rows = np.broadcast_to(rows, (n, tables[node].shape[-1]))
        if node in known:
            codes[node] = np.full(n, known[node])
            with np.errstate(divide="ignore"):
                log += np.log(rows[:, known[node]])
        else:
            codes[node] = _drawn(rows, rng)
    return codes, log


def _drawn(rows: Floats, rng: np.random.Generator) -> Indices:
    """Draw a value for each row of probabilities."""
    below = np.cumsum(rows, axis=1)
    at = rng.random(len(rows))[:, None] * below[:, -1:]
    return np.minimum((at >= below).sum(axis=1), rows.shape[1] - 1)


def likelihood_weighting(
    graph: Graph, tables: Mapping[str, Floats], queried: str, known: Mapping[str, int], n: int, seed: int = 0
) -> SampledEstimate:
    """Estimate P(queried | known) from rows weighted by the likelihood of the evidence."""
    codes, log = forward(graph, tables, n, np.random.default_rng(seed), known)
    if not np.isfinite(log).any():
        raise OptionError(
            "No sampled row agrees with the evidence; the probability of the evidence is 0 or very small."
        )
    weight = np.exp(log - log.max())
    total = float(weight.sum())
    size = tables[queried].shape[-1]
    probabilities = np.bincount(codes[queried], weights=weight, minlength=size) / total
    hits = codes[queried][:, None] == np.arange(size)
    variance = (weight**2) @ ((hits - probabilities) ** 2)  # of a ratio estimator
    return SampledEstimate(probabilities, np.sqrt(variance) / total, total**2 / float((weight**2).sum()))


def gibbs(
    graph: Graph,
    tables: Mapping[str, Floats],
    queried: str,
    known: Mapping[str, int],
    n: int,
    seed: int = 0,
    burn: int = 200,
    chains: int = 100,
) -> SampledEstimate:
    """Estimate P(queried | known) by Gibbs sampling: in each chain, every node is drawn in turn given all others.

    The standard error is computed from the means of the chains. Zeros in CPTs may keep a chain from reaching all
    states; the differences between chains then show in the standard error. The n rows are divided among the chains;
    the first `burn` rounds are discarded.
    """
    rng = np.random.default_rng(seed)
    state = _start(graph, tables, known, chains, rng)
    free = [node for node in graph.order() if node not in known]
    rounds = max(1, -(-n // chains))
    size = tables[queried].shape[-1]
    seen = np.zeros((chains, size))
    for step in range(burn + rounds):
        for node in free:
            state[node] = _drawn(_given_others(graph, tables, node, state), rng)
        if step >= burn:
            seen[np.arange(chains), state[queried]] += 1
    means = seen / rounds
    probabilities = means.mean(axis=0)
    errors = means.std(axis=0, ddof=1) / np.sqrt(chains)
    within = probabilities * (1 - probabilities)
    sizes = [w / e**2 for w, e in zip(within.tolist(), errors.tolist(), strict=True) if e > 0]
    return SampledEstimate(probabilities, errors, min([float(chains * rounds), *sizes]))


def _start(
    graph: Graph, tables: Mapping[str, Floats], known: Mapping[str, int], chains: int, rng: np.random.Generator
) -> Codes:
    """Draw starting rows that agree with the evidence, one for each chain."""
    for size in (10 * chains, 1000 * chains):
        codes, log = forward(graph, tables, size, rng, known)
        good = np.flatnonzero(np.isfinite(log))
        if len(good):
            weight = np.exp(log[good] - log[good].max())
            pick = rng.choice(good, size=chains, p=weight / weight.sum())
            return {node: column[pick].copy() for node, column in codes.items()}
    raise OptionError("No sampled row agrees with the evidence; the probability of the evidence is 0 or very small.")


def _given_others(graph: Graph, tables: Mapping[str, Floats], node: str, state: Codes) -> Floats:
    """Return P(node | all others) up to a constant: its CPT times those of its children."""
    rows = np.array(tables[node][tuple(state[p] for p in graph.parents[node])], dtype=np.float64)
    rows = np.broadcast_to(rows, (len(state[node]), tables[node].shape[-1])).copy()
    for child in graph.children(node):
        index: list[Any] = [state[p][:, None] for p in graph.parents[child]]
        index[graph.parents[child].index(node)] = np.arange(rows.shape[1])[None, :]
        rows *= tables[child][(*index, state[child][:, None])]
        most = rows.max(axis=1, keepdims=True)
        rows /= np.where(most > 0, most, 1.0)  # avoids underflow with many children
    return rows
