"""What binds a deployment, how it puts requests together, and what its times rest on, in words: for the terminal and the page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw.units import counted, show, significant

BINDS = {
    "": "one replica is enough", "pools": "one replica of each kind is enough",
    "ttft": "time to first token", "tbt": "time between tokens", "ttft and tbt": "both times",
    "cache": "the cache: requests make room for others", "work": "the work: fewer could not even compute the prompts",
}  # fmt: skip
BASES = {
    "calibrated": "Steps from curves measured on this machine",
    "transferred": "Steps from physics and constants of other machines",
    "bound": "Steps from the datasheet's peaks: real ones take longer",
}


def replicas(row: Mapping[str, Any]) -> str:
    """`3 replicas of 2 devices (dgx_h200): 1 for prompts, 2 decode, the cache between them over NVLink 4`."""
    shared = f" of {row['devices_per_replica']} devices ({row['box']})" if row["box"] else ""
    pools = row["pools"]
    parts = f": {pools['prompts']} for prompts, {pools['decoders']} decoding, the cache between them over {pools['wire']}" if pools else ""
    return f"{counted(row['replicas'], 'replica')}{shared}{parts}"


def way(row: Mapping[str, Any]) -> str:
    """How requests are put together, where that is not the usual way; "" where it is."""
    guess = row["speculation"]
    parts = [
        "static batches" if row["scheduling"] == "static" else "whole prompts before decoding goes on" if row["prompts"] == "whole" else "",
        f"swapped to the host when the cache is full, {counted(row['preempted'], 'time')}" if row["preemption"] == "swap" else "",
        f"a common beginning of {row['prefix']:,} tokens kept once, which saved {show(row['reused_tokens'])} prompt tokens"
        if row["prefix"] else "",
        f"{counted(guess['tokens'], 'token')} proposed a step by {guess['draft'] or 'a draft that costs nothing'}, of which"
        f" {significant(100 * guess['acceptance'])} % are right: {significant(guess['tokens_per_step'])} a step" if guess else "",
    ]  # fmt: skip
    return "; ".join(filter(None, parts))
