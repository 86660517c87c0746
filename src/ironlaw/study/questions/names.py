"""Parameters that several questions share: which model, which machine, which number format."""

from __future__ import annotations

from typing import Any

from ironlaw.engine.device.types import FORMATS
from ironlaw.errors import unknown
from ironlaw.formats import computed_in, spelled
from ironlaw.registry.loader import normal, slugs
from ironlaw.registry.machines import registered
from ironlaw.registry.workloads import workloads
from ironlaw.study.question import REQUIRED, Parameter, one_of


def _workload(name: str) -> str:
    if normal(name) not in workloads():
        raise unknown("model", name, workloads(), field="model")
    return normal(name)


def _number_format(name: str) -> str:
    known = [fmt for fmt in FORMATS if computed_in(fmt) == fmt]
    if spelled(name) not in known:
        raise unknown("number format", name, known, field="dtype")
    return spelled(name)


def _machine(name: str) -> str:
    return registered(name).slug


MODEL = one_of("model", "a model of the registry", workloads, find=_workload)
MACHINE = one_of("machine", "a machine of the registry, by slug or alias", lambda: slugs("hardware"), find=_machine)


def number_format(about: str, usual: Any = REQUIRED) -> Parameter:
    return one_of("dtype", about, lambda: FORMATS, usual, find=_number_format)
