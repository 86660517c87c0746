"""What `ironlaw slo` prints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw.cli.show import draw
from ironlaw.units import show, significant


def report(result: Mapping[str, Any]) -> None:
    draw.say()
    draw.pairs(_head(result))
    draw.heading("service by service", f"at P{100 * result['quantile']:g}")
    names = ("service", "alone", "total without it", "extra copies", "attempts", "available")
    draw.table(names, [_row(one) for one in result["services"]], left=("service",))
    draw.pairs(_more(result))


def _head(result: Mapping[str, Any]) -> list[tuple[str, Any]]:
    percentile = f"P{100 * result['quantile']:g}"
    rows: list[tuple[str, Any]] = [
        ("the user sees", (f"{percentile} = {_time(result['latency_s'])}", draw.STRONG)),
        ("SLO", _verdict(result["late"], f"{percentile} within {_time(result['within_s'])}", f"{_share(result['over'])} are later")),
        ("sum of parts", f"the services' own {percentile}s add up to {_time(result['sum_of_quantiles_s'])}"),
        ("dependence", f"{_time(result['independent_s'])} if independent, {_time(result['together_s'])} if all are slow together"),
    ]
    if result["fails"] > 1e-9:
        rows.append(("no answer", f"{_share(result['fails'])}: every retry timed out"))
    return rows


def _more(result: Mapping[str, Any]) -> list[tuple[str, Any]]:
    down = f"{result['availability']:.6g}, {_time(result['downtime_s_per_year'])} of downtime per year"
    promised = result["availability_promised"]
    available = down if promised is None else _verdict(result["down"], f"SLO of {promised:g}", down)
    rows: list[tuple[str, Any]] = [("available", available)]
    storm = result["storm"]
    if storm:
        each = "1 retry" if storm["retries"] == 1 else f"{storm['retries']} retries"
        budget = "" if storm["budget"] is None else f" for at most {draw.percent(storm['budget'])} of the requests"
        says = f"at load {storm['load']:g}, with {each}{budget}, it"
        rows.append(("retry storm", _verdict(storm["stuck"], says, _storm(storm), good="dies down", bad="keeps itself up")))
        if storm["nested_attempts"] > storm["retries"] + 1:
            rows.append(
                ("", (f"if services call each other and all retry, one request becomes {storm['nested_attempts']:,} attempts", draw.DIM))
            )
    return rows


def _storm(storm: Mapping[str, Any]) -> str:
    return f"up to {significant(storm['harmless_retries'])} retries per request do no lasting harm"


def _verdict(broken: bool, what: str, why: str, good: str = "is met", bad: str = "is missed") -> tuple[str, str]:
    return f"{what} {bad if broken else good}: {why}", draw.BAD if broken else draw.GOOD


def _row(one: Mapping[str, Any]) -> tuple[Any, ...]:
    times = f"{one['calls']} × " if one["calls"] > 1 else ""
    return (
        one["name"], f"{times}{_time(one['alone_s'])}", _time(one["without_s"]), draw.percent(one["hedge_load"]),
        significant(one["attempts"]), f"{one['availability']:.6g}",
    )  # fmt: skip


def _time(value: float | None) -> str:
    return "never" if value is None else show(value, "s")


def _share(value: float) -> str:
    return draw.percent(value) if value >= 1e-4 or value == 0 else f"{value:.2g} of all"
