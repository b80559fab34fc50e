"""`where` gives every attribute of the defined event a value, and no other."""

from __future__ import annotations

from tyrex.tesla.checks.context import Context
from tyrex.tesla.diagnostics import did_you_mean


def where(context: Context) -> None:
    """Check that every attribute gets exactly one value."""
    for rule in context.rules:
        if rule.defines is None:
            continue
        attributes = rule.defines.attributes
        given: set[str] = set()
        for assignment in rule.syntax.assignments:
            name = assignment.attribute
            if name.text not in attributes:
                context.report(
                    "TSL051",
                    f"`{rule.defines.name}` has no attribute `{name.text}`",
                    rule.source,
                    name.span,
                    expected=", ".join(f"`{known}`" for known in attributes) or "no assignment",
                    found=f"`{name.text}`",
                    suggestion=did_you_mean(name.text, attributes.keys() - given)
                    or f"add `{name.text}` to `define {rule.defines.name}(..)`, or remove the assignment",
                )
            elif name.text in given:
                context.report(
                    "TSL052",
                    f"`{name.text}` gets a value twice",
                    rule.source,
                    name.span,
                    suggestion="keep one of the two",
                )
            given.add(name.text)
        missing = [name for name in attributes if name not in given]
        if missing:
            words = ", ".join(f"`{name}`" for name in missing)
            context.report(
                "TSL050",
                f"`where` gives no value to {words} of `{rule.defines.name}`",
                rule.source,
                rule.syntax.defines.span,
                expected=f"a value for {words}",
                suggestion=f"add `{'and' if rule.syntax.assignments else 'where'} {missing[0]} = ..`",
            )
