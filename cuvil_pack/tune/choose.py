"""Choose how a kernel is computed: one function from a body and a target to a template and its schedule."""

from __future__ import annotations

from ..ir.graph import Graph
from ..kernels.template import Schedule, Template
from ..kernels.template import choose as choose_template
from ..targets import Target


def choose(body: Graph, target: Target) -> tuple[Template, Schedule]:
    """The template that accepts the body, and of its schedules the one that the cost model expects to be fastest."""
    template = choose_template(body)
    schedule, _ = min(template.schedules(body, target), key=lambda s: s[1])
    return template, schedule
