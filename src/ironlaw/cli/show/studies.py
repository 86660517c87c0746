"""What `ironlaw study` prints: the questions, and the best points of a study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ironlaw.cli.show import draw
from ironlaw.units import show

BASIS = "basis"  # the result that says what a time rests on
FEW = 6  # values that a table spells out


def questions(about: Sequence[Mapping[str, Any]]) -> None:
    draw.table(
        ("question", "what it asks", "needs", "ranked by"),
        [(q["question"], q["about"], ", ".join(p["name"] for p in q["parameters"] if p["required"]), q["by"]) for q in about],
        left=("question", "ranked by"), text=("what it asks", "needs"),
    )  # fmt: skip
    draw.say("`ironlaw study --questions NAME` shows a question's parameters and results.")


def question(about: Mapping[str, Any]) -> None:
    draw.heading(about["question"], about["about"])
    draw.table(
        ("parameter", "what it is", "default", "values"),
        [(p["name"], p["about"], _usual(p), _values(p)) for p in about["parameters"]],
        left=("parameter", "default"), text=("what it is", "values"),
    )  # fmt: skip
    draw.table(
        ("result", "what it is", "better"),
        [(r["name"], r["about"], r["better"] or "–") for r in about["results"]],
        left=("result", "better"), text=("what it is",),
    )  # fmt: skip
    first = [p for p in about["parameters"] if p["required"]]
    lines = [f'question = "{about["question"]}"', "", "[over]", *(f"{p['name']} = {_sample(p)}" for p in first)]
    draw.say("A study file to start from:\n\n[study]\n" + "\n".join(lines))


def report(result: Mapping[str, Any]) -> None:
    draw.heading(f"{result['question']}: {draw.plural(result['points'], 'point')}", result["about"])
    fixed = ", ".join(
        f"{name} {_value(value, result['units'][name])}" for name, value in result["fixed"].items() if name not in result["usual"]
    )
    if fixed:
        draw.say(f"All with {fixed}.", draw.DIM)
    if result["best"]:
        _best(result)
    draw.say(_counts(result))
    for one in result["errors"]:
        draw.say(f"{draw.plural(one['points'], 'point')}: {one['error']}", draw.DIM, indent=2)
    draw.say(f"Results: {result['file']}")


def _best(result: Mapping[str, Any]) -> None:
    """Parameters that vary, the result that ranks, and as many others as there is room for."""
    by, units, rows = result["by"], result["units"], result["best"]
    texts = {name: [_value(row[name], units[name]) for row in rows] for name in (*result["vary"], *result["results"])}
    grounds = {row[BASIS] for row in rows if row.get(BASIS)} if BASIS in result["results"] else set()
    shown = [*result["vary"], by, *([BASIS] if len(grounds) > 1 else [])]
    for name in result["results"]:
        wide = sum(2 + max(map(len, (one, *texts[one]))) for one in (*shown, name))
        if name not in (*shown, result["needs"]) and any(row[name] is not None for row in rows) and wide < draw.width():
            shown.append(name)
    left = [name for name in shown if isinstance(rows[0][name], str)]
    draw.table(shown, [[texts[name][i] for name in shown] for i in range(len(rows))], left=left)
    if len(grounds) > 1:
        draw.say("Their times rest on different grounds, so where the ranges of two overlap, their order is not sure.", draw.DIM)


def _counts(result: Mapping[str, Any]) -> str:
    parts = [f"{draw.plural(result['answered'], 'point')} answered, best by {result['by']} ({result['better']} is better)"]
    if result["unfit"]:
        parts.append(f"{result['unfit']:,} of them not ranked ({result['needs']} is false)")
    if result["refused"]:
        parts.append(f"{result['refused']:,} refused")
    if result["failed"]:
        parts.append(f"{result['failed']:,} failed; --retry computes them again")
    return "; ".join(parts) + f"; {result['computed']:,} computed now."


def _value(value: Any, unit: str) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if unit == "%":
        return draw.percent(value)
    if isinstance(value, float):
        return show(value, unit) if unit else f"{value:,.4g}" if value < 1e4 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _usual(parameter: Mapping[str, Any]) -> str:
    return "required" if parameter["required"] else _value(parameter["default"], parameter["unit"])


def _values(parameter: Mapping[str, Any]) -> str:
    names = parameter["values"]
    if not names:
        numbers = f"numbers{', or with ' + parameter['unit'] if parameter['unit'] else ''}"
        return {"int64": "whole numbers", "double": numbers, "string": "text"}.get(parameter["type"], "true, false")
    return ", ".join(names[:FEW]) + (f" and {len(names) - FEW} more" if len(names) > FEW else "")


def _sample(parameter: Mapping[str, Any]) -> str:
    names = parameter["values"]
    if names:
        return "[" + ", ".join(f'"{name}"' for name in names[:2]) + "]"
    return "{ from = 8, to = 64, times = 2 }"
