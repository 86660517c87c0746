"""A deployment's bottleneck, how it batches requests and what its times rest on, in words: for the terminal and the page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw.units import counted, show, significant

BINDS = {
    "": "none, one replica is enough", "pools": "none, one replica of each kind is enough",
    "cache": "the KV cache, which fills up so that requests are preempted", "work": "compute: fewer could not even process the prompts",
}  # fmt: skip
TIMES = {"ttft": "time to first token", "tbt": "time between tokens", "tpot": "a request's mean time per token"}
BASES = {
    "calibrated": "Step times come from measurements on this machine",
    "transferred": "Step times are estimated from measurements of other machines",
    "bound": "Step times come from the datasheet's peaks, so real ones are longer",
}


def bottleneck(row: Mapping[str, Any]) -> str:
    """What keeps fewer devices from doing."""
    return BINDS.get(row["binds"]) or " and ".join(TIMES[name] for name in row["binds"].split(" and "))


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
    shared = f" of {row['devices_per_replica']} devices ({row['box']})" if row["box"] else ""
    pools = row["pools"]
    parts = f" ({pools['prompts']} for prefill, {pools['decoders']} for decode, the KV cache sent over {pools['wire']})" if pools else ""
    return f"{counted(row['replicas'], 'replica')}{shared}{parts}"


def way(row: Mapping[str, Any]) -> str:
    """How requests are batched, where that is not the usual way; "" where it is."""
    guess = row["speculation"]
    parts = [
        "static batches" if row["scheduling"] == "static" else "whole prompts, while decoding waits" if row["prompts"] == "whole" else "",
        f"swapped to the host when the cache is full, {counted(row['preempted'], 'time')}" if row["preemption"] == "swap" else "",
        f"a shared prefix of {row['prefix']:,} tokens cached once, which saved {show(row['reused_tokens'])} prompt tokens"
        if row["prefix"] else "",
        f"{counted(guess['tokens'], 'token')} proposed a step by {guess['draft'] or 'a draft that costs nothing'}, of which"
        f" {significant(100 * guess['acceptance'])}% are right: {significant(guess['tokens_per_step'])} a step" if guess else "",
    ]  # fmt: skip
    return "; ".join(filter(None, parts))
