"""What a dial's value may be: one schema for both sides. `conforms` interprets it here, the function of that name in js/schema.js there.

A rule is data: `is` names a type, and a limit is a number or the name of the dial's own attribute that holds it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

Rule = Mapping[str, Any]

LONGEST_NAME = 40  # characters of a pin's name

_OPTION = {"is": "option"}
_NUMBER = {"is": "number", "least": "min", "most": "max", "whole": "whole"}
_PIN = {"is": "record", "fields": {"name": {"is": "text", "most": LONGEST_NAME}, "values": {"is": "mapping", "keys": "of"}}}

# by the type of the dial
SCHEMA: dict[str, Rule] = {
    "choice": _OPTION,
    "select": _OPTION,
    "switch": {"is": "boolean"},
    "range": _NUMBER,
    "log": _NUMBER,
    "chain": {"is": "list", "least": 1, "most": "most", "of": _OPTION},
    "pins": {"is": "list", "least": 0, "most": "most", "of": _PIN},
}


def conforms(rule: Rule, dial: Mapping[str, Any], value: Any) -> bool:
    """Whether the rule lets the dial stand at the value. A disabled option does not count as one."""

    def limit(name: str) -> Any:
        bound = rule.get(name)
        return dial.get(bound) if isinstance(bound, str) else bound

    match rule["is"]:
        case "boolean":
            return isinstance(value, bool)
        case "text":
            return isinstance(value, str) and len(value) <= limit("most")
        case "option":
            return any(_same(option["value"], value) and not option.get("disabled") for option in dial["options"])
        case "number":
            good = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
            return good and limit("least") <= value <= limit("most") and (not limit("whole") or float(value).is_integer())
        case "list":
            good = isinstance(value, (list, tuple)) and limit("least") <= len(value) <= limit("most")
            return good and all(conforms(rule["of"], dial, item) for item in value)
        case "record":
            return isinstance(value, dict) and all(conforms(inner, dial, value.get(key)) for key, inner in rule["fields"].items())
        case "mapping":
            return isinstance(value, dict) and set(value) <= set(limit("keys"))
        case kind:
            raise AssertionError(f"the schema has a rule of a kind that nobody interprets: {kind!r}")


def _same(one: Any, other: Any) -> bool:
    """As JavaScript's ===: Python alone takes True for 1."""
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)
