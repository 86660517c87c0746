"""Counts the processor time of each test, that of the programs it started and waited for included, where IRONLAW_CPU_LOG names a file.

`scripts/budget.py` adds it up by folder. Processor time, not the clock: a busy machine changes it little.
"""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parent


def processor_time() -> float:
    own = os.times()  # its children's time is zero on Windows
    return time.process_time() + own.children_user + own.children_system


class Ledger:
    """What each test took, and under "" what no test did: imports, collection, whatever ends with the session."""

    def __init__(self, log: Path, hands_out: bool):
        self.log = log
        self.hands_out = hands_out  # pytest-xdist's first process: its children are the workers, which count for themselves
        self.seconds: dict[str, float] = {}

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        start = processor_time()
        try:
            return (yield)
        finally:
            self.seconds[item.nodeid] = processor_time() - start

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self) -> None:
        rest = time.process_time() if self.hands_out else processor_time() - sum(self.seconds.values())
        with self.log.open("a", encoding="utf-8") as lines:  # one write a process: two workers share the file
            lines.write("".join(json.dumps([name, round(spent, 4)]) + "\n" for name, spent in {**self.seconds, "": rest}.items()))


def watch(config: pytest.Config) -> None:
    log = os.environ.get("IRONLAW_CPU_LOG")
    if log:
        config.pluginmanager.register(Ledger(Path(log), hands_out=bool(getattr(config.option, "numprocesses", None))))
