"""Every law and rule: it applies to its examples, and the numbers stay."""

import pytest

from cuvil_pack.ir.graph import Result
from cuvil_pack.ir.rewrite import Rule
from cuvil_pack.passes import arithmetic, attend, layout, logic, lower, masks, positions, rotate, spelled, views
from cuvil_pack.passes.settle import Law, law_of, settle
from tests.passes.graphs import distance, example, of_pattern

MODULES = (arithmetic, views, positions, logic, layout, lower, attend, masks, spelled, rotate)
LAWS = {f"{m.__name__.rpartition('.')[2]}.{n}": v for m in MODULES for n, v in vars(m).items() if isinstance(v, Law)}
RULES = {f"{m.__name__.rpartition('.')[2]}.{n}": v for m in MODULES for n, v in vars(m).items() if isinstance(v, Rule)}


@pytest.mark.parametrize("law, text", [pytest.param(v, e, id=f"{n}({e})") for n, v in LAWS.items() for e in v.examples])
def test_law_applies_and_keeps_meaning(law: Law, text: str) -> None:
    before = settle(example(text), ())
    assert any(n.op in law.ops and law.apply(n) is not None for n in before.nodes())
    after = settle(before, (law,))
    assert distance(before, after) < 1e-6


@pytest.mark.parametrize("name", [n for n, v in LAWS.items()])
def test_law_has_examples(name: str) -> None:
    assert LAWS[name].examples


@pytest.mark.parametrize("rule, types", [pytest.param(v, e, id=n) for n, v in RULES.items() for e in v.examples])
def test_rule_fires_and_keeps_meaning(rule: Rule, types: str) -> None:
    before = of_pattern(rule.pattern, types)
    root = before.outputs[0]
    assert isinstance(root, Result) and law_of(rule).apply(root.node) is not None
    assert distance(before, settle(before, (rule,))) < 1e-6
