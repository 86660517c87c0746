"""A language model's figures as words, for the terminal and the report alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw.engine.device.predict import Prediction
from ironlaw.formats import operation
from ironlaw.report.accuracy import RESTS, Form, between
from ironlaw.report.language_report import DECODE, PREFILL, Language
from ironlaw.report.report_layers import places
from ironlaw.units import significant

SHORT = "TTFT: time to first token, for the whole batch of prompts. Per token: one step of the whole batch."
NOTE = f"{SHORT} Only the last token of a prompt gets logits. Max batch: the largest whose weights, cache and activations fit."


def title(language: Language) -> str:
    """`prompt of 2,048 tokens, then one token after 4,096`."""
    words = {PREFILL: "a prompt of {:,} tokens", DECODE: "one token after {:,}"}
    return ", ".join(words[phase.name].format(phase.tokens) for phase in language.phases)


def cache(language: Language, form: Form) -> str:
    sizes = ", ".join(f"{form(language.kept(batch), 'B')} at batch {batch:,}" for batch in language.phases[-1].predictions)
    each = f"The KV cache takes {form(language.token_bytes, 'B')} per token"
    return f"{each}. With {language.phases[-1].tokens:,} tokens per sequence that is {sizes}."


def columns(language: Language) -> list[str]:
    batches = ["batch"] if len(language.phases[-1].predictions) > 1 else []
    first = ["TTFT"] if language.phase(PREFILL) else []
    later = ["per token", "tokens/s"] if language.phase(DECODE) else []
    return ["machine", "mode", *batches, *first, *later, "max batch", "bound by"]


def shown(language: Language) -> list[dict[str, Any]]:
    """Every mode of one batch; of several batches each machine's fastest mode."""
    rows = list(language.rows())
    if len(language.phases[-1].predictions) < 2:
        return rows
    key = "token_s" if language.phase(DECODE) else "ttft_s"
    best: dict[tuple[int, str], dict[str, Any]] = {}
    for row in rows:
        place = row["batch"], row["hardware"]
        if place not in best or row[key] < best[place][key]:
            best[place] = row
    return list(best.values())


def cells(language: Language, row: Mapping[str, Any], form: Form) -> list[str]:
    mark = RESTS[row["basis"]]
    machine = row["hardware"] if row["devices"] == 1 else f"{row['devices']} × {row['hardware']}"
    out = [machine, row["mode"]]
    if len(language.phases[-1].predictions) > 1:
        out.append(f"{row['batch']:,}")
    if language.phase(PREFILL):
        out.append(mark + form(row["ttft_s"], "s"))
    if language.phase(DECODE):
        out += [mark + form(row["token_s"], "s"), significant(row["tokens_per_s"])]
    largest = row["largest_batch"]
    out.append("–" if largest is None else f"{largest:,}" if row["fits"] else f"{largest:,}: does not fit")
    return [*out, ", ".join(row[f"{name}_bound"] for name in (PREFILL, DECODE) if row[f"{name}_bound"])]


def likely(language: Language, row: Mapping[str, Any], form: Form) -> str:
    """Where measurements should fall, in words; empty where that is not known."""
    names = (("ttft_interval", "first token"), ("token_interval", "per token"))
    parts = [f"{words} {between(row[key], form)}" for key, words in names if row[key]]
    return f"{row['hardware']}, {row['mode']}, batch {row['batch']:,}, likely: {'; '.join(parts)}" if parts else ""


PLACES = ("operator", "runs", "time", "share", "work", "moved", "regime")


def operators(p: Prediction, limit: int, form: Form) -> list[list[str]]:
    """What takes longest, the same op of all layers together."""
    return [
        [
            place.name, f"{place.count:,}", form(place.seconds, "s"), f"{significant(100 * place.seconds / float(p.busy_s))}%",
            form(place.flops, operation(p.graph.dtype)), form(place.bytes, "B"), place.regime,
        ]
        for place in places(p)[:limit]
    ]  # fmt: skip


def groups(language: Language) -> list[str]:
    """Machines of which one does not hold the model, from which batch on."""
    first: dict[str, dict[str, Any]] = {}
    for row in language.rows():
        if row["devices"] > 1:
            first.setdefault(row["hardware"], row)
    return [
        f"{slug}: one does not hold batch {row['batch']:,}, so its figures are of {row['devices']}, each with some of the layers, one after"
        " the other; max batch is as if they shared the bytes evenly."
        for slug, row in first.items()
    ]
