"""A question that a test asks again, for people after JSON or from Python, is worked out once: tests of commands look at what is asked and
how it is shown. A question is frozen, so that equal ones have one answer; where it names a file, that may have changed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ironlaw.report.analyze_question import Analyze
from ironlaw.systems.questions import capacity, cluster
from ironlaw.systems.registry_graphs import is_ours


def ask_once(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(capacity, "search", once(capacity.search, lambda asked: not (asked.trace and Path(str(asked.trace)).exists())))
    patch.setattr(cluster, "_searched", once(cluster._searched, lambda asked: True))
    patch.setattr(Analyze, "analysis", once(Analyze.analysis, lambda asked: is_ours(asked.target) and not asked.trace))


def once(work: Callable[..., Any], stays: Callable[[Any], bool]) -> Callable[..., Any]:
    known: list[tuple[Any, Any]] = []

    def worked_out(asked: Any, *more: Any) -> Any:
        for earlier, answer in known:
            if earlier == asked and stays(asked):
                return answer
        known.append((asked, work(asked, *more)))
        return known[-1][1]

    return worked_out
