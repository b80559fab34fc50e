"""Plans as text and as pictures."""

from __future__ import annotations

import json
from typing import Literal

from tyrex.plan.describe import describe
from tyrex.plan.model import RulePlan, RuleSetPlan
from tyrex.plan.pictures.data import rule_data, rule_set_data
from tyrex.plan.pictures.dot import rule_dot, rule_set_dot
from tyrex.plan.pictures.mermaid import rule_mermaid, rule_set_mermaid
from tyrex.plan.pictures.svg import rule_set_svg, rule_svg

Format = Literal["text", "mermaid", "dot", "svg", "json"]


def draw(plan: RuleSetPlan | RulePlan, format: Format = "text") -> str:
    """A plan in one of the formats, ending with a line break."""
    match format:
        case "text":
            return describe(plan)
        case "mermaid":
            return rule_mermaid(plan) if isinstance(plan, RulePlan) else rule_set_mermaid(plan)
        case "dot":
            return rule_dot(plan) if isinstance(plan, RulePlan) else rule_set_dot(plan)
        case "svg":
            return rule_svg(plan) if isinstance(plan, RulePlan) else rule_set_svg(plan)
        case "json":
            data = rule_data(plan) if isinstance(plan, RulePlan) else rule_set_data(plan)
            return json.dumps(data, indent=2, ensure_ascii=False) + "\n"
