"""A deployment's bottleneck, how it batches requests and what its times rest on, in words: for the terminal and the page."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ironlaw.report.accuracy import RESTS, listed
from ironlaw.units import counted, show, significant

BINDS = {
    "": "One is enough, so nothing is a bottleneck yet.",
    "pools": "One of each kind is enough, so nothing is a bottleneck yet.",
    "cache": "The bottleneck is the KV cache, which would fill up on fewer, so that requests are preempted.",
    "work": "The bottleneck is compute, because fewer could not keep up with the requests.",
}
TIMES = {"ttft": "the time to first token", "tbt": "the time between tokens", "tpot": "a request's mean time per token"}
BASES = {  # what times rest on, and what a table's mark means
    "calibrated": ("measurements on the machine itself", ""),
    "transferred": ("measurements of other machines", "≈"),
    "bound": ("the datasheet alone", "≥, so real ones are longer"),
}
RATES = {**RESTS, "bound": "≤ "}  # what stands before tokens per second


def grounds(rows: Sequence[Mapping[str, Any]]) -> str:
    """`Step times rest on measurements on the machine itself for h200_sxm, and on measurements of other machines for h100_sxm (≈).`"""
    named = {basis: listed(row["hardware"] for row in rows if row["basis"] == basis) for basis in BASES}
    parts = [
        f"on {what}{f' for {slugs}' if len(rows) > 1 else ''}{f' ({mark})' if mark else ''}"
        for (what, mark), slugs in zip(BASES.values(), named.values(), strict=True) if slugs
    ]  # fmt: skip
    return f"Step times rest {', and '.join(filter(None, (', '.join(parts[:-1]), parts[-1])))}."


def bottleneck(row: Mapping[str, Any]) -> str:
    """Why fewer devices would not do."""
    if row["binds"] in BINDS:
        return BINDS[row["binds"]]
    times = [TIMES[name] for name in row["binds"].split(" and ")]
    return f"The bottleneck{' is' if len(times) == 1 else 's are'} {' and '.join(times)}."


def verdict(result: Mapping[str, Any]) -> str:
    """`Plan 4 × h200_sxm (TP 4), at $18.4 per hour and $3.91 per million new tokens. They meet the SLO even if …`"""
    answer = result["answer"]
    if answer is None:
        return f"None of these machines {'takes any rate within' if result['fleet'] else 'meets'} the SLO."
    row = next(row for row in result["choices"] if row["hardware"] == answer["hardware"])
    if answer["by"] == "rate":
        idle = result["fleet"] - row["devices"]
        rest = f", with {counted(idle, 'device')} left over" if idle else ""
        low, high = (significant(end) for end in row["between"]["largest_rate"])
        rate = f"{significant(row['largest_rate'])} requests/s (likely {low} to {high})"
        return f"{_devices(row)} {'takes' if row['devices'] == 1 else 'take'} the largest rate, {rate}{rest}."
    safe, count = row["safe"], row["devices"]
    it, meet = ("It", "meets") if count == 1 else ("They", "meet")
    should = f"{_devices(row)} ({parallelism(row['layout'])}) should meet the SLO, {_at(row)}."
    if safe is None:
        doubt = (
            "Only the datasheet is known, so real steps take longer."
            if row["basis"] == "bound"
            else f"{EVEN}, no number that we tried does."
        )
        return f"{should} {doubt}"
    if safe["devices"] > count or safe["layout"] != row["layout"]:
        more = f"{safe['devices']} × {row['hardware']} ({parallelism(safe['layout'])})"
        dollars = f", ${significant(row['dollars_per_hour'] * safe['devices'] / count)} per hour" if row["dollars_per_hour"] else ""
        return f"Plan {more}{dollars}. {should} {EVEN}, it takes {safe['devices']}."
    then = (
        f", then with {counted(safe['prompts'], 'replica')} that only prefill" if safe["prompts"] and not row["pools"]
        else "" if safe["budget"] == row["budget"] else f", then with at most {safe['budget']:,} tokens per step"
    )  # fmt: skip
    even = f"{it} {meet} the SLO even if steps take as long as they may{then}."
    return f"Plan {_devices(row)} ({parallelism(row['layout'])}), {_at(row)}. {even}"


ALIKE = "fair step"
EVEN = "If steps take as long as they may"


def tied(result: Mapping[str, Any]) -> str:
    """`It is a tie with others that may turn out as cheap: 4 × mi300x ($10.4 per hour, 8 to be sure)…`; "" where nothing else may."""
    answer = result["answer"]
    rows = {row["hardware"]: row for row in result["choices"]}
    if not answer["ties"]:
        return ""
    listed = "; ".join(_tie(rows[slug], answer["by"]) for slug in answer["ties"])
    good = {"dollars": "as cheap", "devices": "as few", "rate": "as fast"}[answer["by"]]
    return f"It is a tie with others that may turn out {good}: {listed}. A benchmark of your own decides (`--benchmark`)."


def _tie(row: Mapping[str, Any], by: str) -> str:
    if by == "rate":
        return f"{_devices(row)} with {significant(row['largest_rate'])} requests/s"
    safe = row["safe"]
    sure = (
        "only its datasheet is known" if row["basis"] == "bound"
        else "sure at no number that we tried" if safe is None
        else "" if safe["devices"] == row["devices"] else f"{safe['devices']} to be sure"
    )  # fmt: skip
    price = f"${significant(row['dollars_per_hour'])} per hour" if row["dollars_per_hour"] else ""
    more = ", ".join(filter(None, (price, sure)))
    return f"{_devices(row)}{f' ({more})' if more else ''}"


def ranked(result: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The rows of an answer: what to bet on, what ties with it, and the others by what they cost."""
    answer = result["answer"]
    first = [answer["hardware"], *answer["ties"]]
    return sorted(
        result["choices"],
        key=lambda row: (
            first.index(row["hardware"]) if row["hardware"] in first else len(first),
            -(row["largest_rate"] or 0.0) if answer["by"] == "rate" else row["dollars_per_hour"] or math.inf,
            row["devices"],
        ),
    )


def by_standing(result: Mapping[str, Any], points: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Points of machines in the order of the answer's rows; those that can't meet the SLO come last."""
    order = [row["hardware"] for row in ranked(result)] if result["answer"] else []
    return sorted(points, key=lambda point: order.index(point["hardware"]) if point["hardware"] in order else len(order))


def standing(result: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    """`answer`, `tie` or nothing: what a table says beside a row."""
    answer = result["answer"]
    return "answer" if row["hardware"] == answer["hardware"] else "tie" if row["hardware"] in answer["ties"] else ""


def sure_number(row: Mapping[str, Any]) -> str:
    """Devices that do even where steps take as long as they may; `?` where no number that was tried does."""
    return f"{row['safe']['devices']:,}" if row["safe"] else "?"


def _at(row: Mapping[str, Any]) -> str:
    if row["dollars_per_hour"] is None:
        return "though no price is known"
    return (
        f"at ${significant(row['dollars_per_hour'])} per hour and ${significant(row['dollars_per_million_tokens'])} per million new tokens"
    )


def _devices(row: Mapping[str, Any]) -> str:
    return f"{row['devices']:,} × {row['hardware']}"


def slo(promise: Mapping[str, Any]) -> str:
    """`SLO at P99: first token within 1 s, then at most 50 ms between tokens.`"""
    gap = [f"at most {show(promise['tbt_s'], 's')} between tokens"] if promise["tbt_s"] else []
    mean = [f"{show(promise['tpot_s'], 's')} per token on average over a request"] if promise["tpot_s"] else []
    share = significant(100 * promise["share"], 4)
    return f"SLO at P{share}: first token within {show(promise['ttft_s'], 's')}, then {' and '.join([*gap, *mean])}."


def between(promise: Mapping[str, Any]) -> tuple[str, str]:
    """Which time between tokens stands in a table: its heading, and its name in a row."""
    return ("TBT", "tbt_s") if promise["tbt_s"] else ("TPOT", "tpot_s")


def replicas(row: Mapping[str, Any]) -> str:
    """`3 replicas of 2 devices (dgx_h200) (1 for prefill, 2 for decode, the KV cache sent over NVLink 4)`."""
    shared = f" of {row['devices_per_replica']} devices ({row['box']}, {parallelism(row['layout'])})" if row["box"] else ""
    pools = row["pools"]
    parts = f" ({pools['prompts']} for prefill, {pools['decoders']} for decode, the KV cache sent over {pools['wire']})" if pools else ""
    return f"{counted(row['replicas'], 'replica')}{shared}{parts}"


def parallelism(layout: Mapping[str, Any]) -> str:
    """`TP 4 · PP 2`, `attention DP 8 · EP 8`, `1 device`."""
    shared = layout["tensor"] * layout["groups"]
    parts = [
        f"TP {layout['tensor']}" if layout["tensor"] > 1 else "",
        f"PP {layout['stages']}" if layout["stages"] > 1 else "",
        f"attention DP {layout['groups']}" if layout["groups"] > 1 else "",
        f"EP {shared}" if layout["whole_experts"] else "",
    ]
    return " · ".join(filter(None, parts)) or "1 device"


def likely(row: Mapping[str, Any], promise: Mapping[str, Any], fleet: bool) -> str:
    """`Likely 1 to 2 devices; P99 TTFT 316 ms to 2.85 s, TBT 26.4 to 40.2 ms.`; of a `fleet`, whose size is given, the times alone."""
    if row["basis"] == "bound":
        return f"At least {counted(row['devices'], 'device')}: how much longer real steps are is not known."
    gap, key = between(promise)
    ends = row["between"]
    low, high = ends["devices"]
    share = f"P{significant(100 * promise['share'], 4)}"
    times = f"{share} TTFT {span(ends['ttft'], 's')}, {gap} {span(ends[key.removesuffix('_s')], 's')}"
    if high is None:
        least = counted(round(low), "device")
        return f"Likely at least {least}, and if steps take as long as they may, no number that we tried meets the SLO; {times}."
    if fleet:
        return f"Likely {times}."
    if low == high:
        return f"Likely {counted(round(low), 'device')}; {times}."
    return f"Likely {low:,.0f} to {high:,.0f} devices{_otherwise(row)}; {times}."


def _otherwise(row: Mapping[str, Any]) -> str:
    """How the devices to be sure of differ from those of the row, beside their number."""
    safe = row["safe"]
    if safe is None:
        return ""
    parts = [
        parallelism(safe["layout"]) if safe["layout"] != row["layout"] else "",
        f"{counted(safe['prompts'], 'replica')} that only prefill" if safe["prompts"] and not row["pools"]
        else f"{safe['budget']:,} tokens per step" if safe["budget"] != row["budget"] else "",
    ]  # fmt: skip
    said = " and ".join(filter(None, parts))
    return f" (the larger number with {said})" if said else ""


def span(ends: Sequence[float], unit: str) -> str:
    return f"{show(ends[0], unit)} to {show(ends[1], unit)}"


SHORT = "That run is over before it is steady, so a lasting load would get less; leave out --requests, or give more."


def takes(row: Mapping[str, Any]) -> str:
    """`They take up to 21.3 requests/s within the SLO, likely 17.9 to 23.3.`"""
    if row["largest_rate"] is None:
        return ""
    low, high = row["between"]["largest_rate"]
    what = "It takes" if row["devices"] == 1 else "They take"
    short = "" if row["steady"] else f" {SHORT}"
    if row["basis"] == "bound":
        return f"{what} {significant(row['largest_rate'])} requests/s within the SLO at most.{short}"
    likely = f"likely {significant(low)} to {significant(high)}"
    return f"{what} up to {significant(row['largest_rate'])} requests/s within the SLO, {likely}.{short}"


def alike(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the machines rest on different grounds, so that a table has a column on the same ones."""
    return any(row["step_alike_s"] is not None for row in rows)


def like_with_like(result: Mapping[str, Any]) -> str:
    """What the column ALIKE shows; "" where all machines rest on the same grounds."""
    if not alike(result["choices"]):
        return ""
    bound = any(row["basis"] == "bound" for row in result["choices"])
    same = "with every machine computed from its datasheet" if bound else "with every machine predicted as if it had not been measured"
    return f"These machines' times rest on different grounds. To compare like with like, “{ALIKE}” is a step of 32 sequences, {same}."


def own_time(engine: Mapping[str, Any]) -> str:
    """`vLLM 0.11.0 adds 1.59 ms to each step, …`"""
    basis = f" as {engine['benchmark']} says" if engine["benchmark"] else ""
    parts = [
        f"{show(engine[key], 's')} {what}"
        for key, what in (("step_s", "to each step"), ("first_s", "to the first token"), ("request_s", "of its front to each request"))
        if engine[key]
    ] or ["no time of its own"]  # fmt: skip
    start = f" It takes about {show(engine['start_s'], 's')} to start, beside loading the weights." if engine["start_s"] else ""
    who = "Your engine" if engine["name"] == "plain" else engine["name"]
    said = " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))
    return f"{who} adds {said}{basis}.{start}"


def steep(row: Mapping[str, Any]) -> str:
    """Why there are so many devices, where the work takes far fewer."""
    cliff = row["cliff"]
    if cliff is None:
        return ""
    why = (
        f"The work alone takes {counted(cliff['work_devices'], 'device')}; the others are there so that {TIMES[cliff['limit']]} stays"
        " within its limit."
    )
    if cliff["devices"] is None:
        return f"{why} Limits up to three times as long don't change that."
    return f"{why} With {show(cliff['at_s'], 's')} instead, {counted(cliff['devices'], 'device')} would do."


def way(row: Mapping[str, Any]) -> str:
    """How requests are batched, where that is not the usual way; "" where it is."""
    guess = row["speculation"]
    parts = [
        "static batches" if row["scheduling"] == "static"
        else "whole prompts, while decoding waits" if row["prompts"] == "whole" and not row["pools"] else "",
        f"swapped to the host when the cache is full, {counted(row['preempted'], 'time')}" if row["preemption"] == "swap" else "",
        f"a shared prefix of {row['prefix']:,} tokens cached once, which saved {row['reused_tokens']:,.0f} prompt tokens"
        if row["prefix"] else "",
        f"{counted(guess['tokens'], 'token')} proposed per step by {guess['draft'] or 'a draft that costs nothing'}, of which"
        f" {significant(100 * guess['acceptance'])}% are right, so that a step keeps"
        f" {significant(guess['tokens_per_step'])}" if guess else "",
    ]  # fmt: skip
    return "; ".join(filter(None, parts))
