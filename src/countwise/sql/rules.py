"""A list of rules as a query: the number of the first rule that holds, and its answer looked up."""

from __future__ import annotations

from countwise.sql.cells import holds
from countwise.sql.steps import Steps
from countwise.terms import Rules

__all__ = ["rule_query"]


def rule_query(rules: Rules, table: str, dialect: str = "duckdb", *, proba: bool = True) -> str:
    """All columns of a table, and the class and its probabilities; NULL where the list leaves it open."""
    steps = Steps(table, dialect)
    d, name = steps.dialect, f"predicted {rules.target}"
    answers = [d.literal(None if c is None else rules.classes[c]) for c in rules.answers]
    tests = [" AND ".join(holds(test, steps.cells) for test in rule) or "1 = 1" for rule in rules.rules]

    def first(found: list[str]) -> str:
        whens = [f"WHEN {test} THEN {text}" for test, text in zip(tests, found, strict=False)]
        return "\n    ".join(["CASE", *whens, f"ELSE {found[-1]}"]) + "\n  END" if whens else found[-1]

    if not proba:
        return steps.text({name: first(answers)})
    steps.add("cw_deciding", {"cw_rule": first([str(i) for i in range(len(answers))])}, once=True)
    columns = [f"p{c}" for c in range(len(rules.classes))]
    rows = [
        [str(i), answer, *("NULL" if rules.answers[i] is None else d.real(float(p)) for p in shares)]
        for i, (answer, shares) in enumerate(zip(answers, rules.shares, strict=True))
    ]
    steps.look_up("cw_rules", ["rule", "answer", *columns], rows)
    found = {
        f"cw_{c}": d.cast(f"cw_rules.{c}", "double") if d.name == "postgres" else f"cw_rules.{c}" for c in columns
    }
    steps.add("cw_found", {"cw_answer": "cw_rules.answer", **found}, ["cw_rules ON cw_rule = cw_rules.rule"])
    return steps.text({name: "cw_answer", **{f"P({v})": f"cw_p{c}" for c, v in enumerate(rules.classes)}})
