"""The words about who launches, for the terminal, the report and the server alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ironlaw.engine.device.predict import Prediction

Form = Callable[[float, str], str]


def launched(p: Prediction, form: Form) -> str:
    """`launched by a typical host, estimated: 10 µs for an element-wise op`."""
    if p.hardware.dispatch != "queued":
        return "launched by the device itself"
    if p.plan.launch is not None:
        return f"each launch takes {form(float(p.plan.launch), 's')}, as given"
    return f"launched by {p.host.label}: {form(p.host.default, 's')} for an element-wise op"


def each(predictions: Iterable[Prediction], form: Form, name: Callable[[Prediction], str]) -> list[str]:
    """A sentence for each machine; one for all where they are the same."""
    by_machine = {name(p): launched(p, form) for p in predictions}
    if len(set(by_machine.values())) == 1:
        words = next(iter(by_machine.values()))
        return [words[0].upper() + words[1:] + "."]
    return [f"{machine}: {words}." for machine, words in by_machine.items()]


def caveats(predictions: Iterable[Prediction]) -> list[str]:
    """What must be said about the hosts that were used, each once."""
    return list(dict.fromkeys(words for p in predictions if p.plan.launch is None for words in p.host.caveats))
