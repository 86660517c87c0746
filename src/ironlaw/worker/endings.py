"""How a process that gave no result came to its end, in words with a next step."""

from __future__ import annotations

import signal

GUARD = 'put what should not run here under `if __name__ == "__main__":`'
MEMORY = (
    "most often because the machine ran out of memory; build the model in a class or function rather than at the top of the file"
    " (it is then built without its weights), or close other programs"
)
CRASHES = ("SIGSEGV", "SIGBUS", "SIGABRT", "SIGILL", "SIGFPE", "SIGSYS")


def describe(name: str, code: int | None) -> str:
    """`code` as Popen gives it: negative for a signal, None where the process still ran."""
    if code is None:
        return f"{name} closed the way back to ironlaw, so no result could arrive; leave file descriptors alone that it did not open"
    if code >= 0:
        return f"{name} ended its own process (exit code {code}) before there was a result; {GUARD}"
    try:
        what = signal.Signals(-code).name
    except ValueError:
        what = f"signal {-code}"
    if what == "SIGKILL":
        return f"the process that ran {name} was killed ({what}), {MEMORY}"
    if what in CRASHES:
        return f"{name} crashed its process ({what}) in native code; the lines above say where: fix or leave out that call"
    return f"the process that ran {name} was ended from outside ({what}); run the command again"


def too_long(name: str, limit_s: float, place: str) -> str:
    where = f", and was then at {place}" if place else ""
    return f"{name} was not done after {limit_s:g} s{where}; {GUARD}, or allow more time with --limit, such as --limit '1 h'"


def stopped(name: str, call: str, place: str) -> str:
    return f"{name} calls {call} at {place}, so there is no result; remove the call, or {GUARD}"


def failed(name: str, error: str, place: str) -> str:
    return f"{name} fails at {place}: {error}; fix it first"


def undermined(name: str, what: str) -> str:
    return f"{name} takes away {what}, and ironlaw needs that to go on; leave it as it was, or put it back before the file ends"
