"""How the terminal, the report and the server say which host launches the kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ironlaw.engine.device.predict import Prediction

Form = Callable[[float, str], str]


def launched(p: Prediction, form: Form) -> str:
    """`the host (Typical server, estimated) takes 10 µs to launch an element-wise op`."""
    if p.hardware.dispatch != "queued":
        return "the device launches its own kernels"
    if p.plan.launch is not None:
        return f"each launch takes {form(float(p.plan.launch), 's')}, as given"
    return f"the host ({p.host.label}) takes {form(p.host.default, 's')} to launch an element-wise op"


def each(predictions: Iterable[Prediction], form: Form, name: Callable[[Prediction], str]) -> list[str]:
    """A sentence for each machine; one for all where they are the same."""
    by_machine = {name(p): launched(p, form) for p in predictions}
    if len(set(by_machine.values())) == 1:
        words = next(iter(by_machine.values()))
        return [words[0].upper() + words[1:] + "."]
    return [f"{machine}: {words}." for machine, words in by_machine.items()]


def caveats(predictions: Iterable[Prediction]) -> list[str]:
    """Warnings about the hosts that were used, each once."""
    return list(dict.fromkeys(words for p in predictions if p.plan.launch is None for words in p.host.caveats))
