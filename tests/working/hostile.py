"""Names and values that try to be commands of LaTeX, HTML, SVG, a terminal or a spreadsheet."""

from __future__ import annotations

from typing import Any

import numpy as np

import countwise as cw

__all__ = ["TEXTS", "workings"]

TEXTS = (
    r"\input{/etc/passwd}",
    r"\write18{id}",
    "^^5cinput{x}",
    "a & b % c $ d # e _ f { g } h ~ i ^ j | k < l > m \" n ' o ` p",
    "}\\end{align*}\\input|id",
    "two\n\nparagraphs",
    "tab\tcarriage\rreturn",
    "\x00\x1b]0;owned\x07\x9b\x7f",
    "\u202eesrever\u2066\u2028\u2029",
    "<script>alert(1)</script><img src=x onerror=alert(1)>&amp;",
    "]]><svg onload=alert(1)>",
    "=1+1",
    "漢字 かな 한국어 русский עברית 😀 é ą ğ ñ ø ł ß",
    "φ σ Σ ² → ≤ ∞ −",
    "",
    " ",
    "[x]",
    "*",
    "1_000",
    "١٢",
    "inf",
    "-1e-7",
)


def workings() -> dict[str, Any]:
    """Return a working of each type of model whose columns, values and classes are these texts."""
    rng = np.random.default_rng(3)
    n = 6 * len(TEXTS)
    b = np.array([TEXTS[i % len(TEXTS)] for i in range(n)], dtype=object)
    x = rng.normal(size=n)
    y = np.where(x + (np.arange(n) % 3) > 0.8, TEXTS[0], np.where(x > 0, TEXTS[9], TEXTS[12])).astype(object)
    X = {TEXTS[3]: b, TEXTS[9]: x}
    models = {
        "naive Bayes": cw.NaiveBayesClassifier(),
        "kernel": cw.NaiveBayesClassifier("auto"),
        "discriminant": cw.DiscriminantClassifier(nominal="onehot", shrinkage=0.5),
        "parzen": cw.ParzenClassifier(),
        "prototype": cw.PrototypeClassifier(),
        "tree": cw.TreeClassifier(max_depth=3),
        "rules": cw.RuleClassifier(),
        "neighbors": cw.NeighborsClassifier(3),
        "PEBLS": cw.PEBLSClassifier(),
        "rote": cw.RoteClassifier(),
        "network": cw.BayesNetworkClassifier("tan"),
    }
    found = {}
    for name, model in models.items():
        fitted = model.fit(X, y)
        for row in range(len(TEXTS)):
            found[f"{name}, row {row}"] = fitted.explain(X, row=row)
    return found
