"""The dials of /explore: filled from the registry, each with the reason where it can't be turned."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from ironlaw.engine.device.machine import REPLAYED
from ironlaw.pages.choices import choices, settings
from ironlaw.pages.explore_answers import DEFAULTS, HOST, MOST, SIZES
from ironlaw.registry.machines import SERVER
from ironlaw.registry.workloads import workloads
from ironlaw.widget.dials import Dial, choice, select, span, why_not
from ironlaw.widget.quantities import format_quantity

Values = Mapping[str, Any]

CONTEXTS = {"cloud": "Cloud", "desktop": "Desk", "edge": "Edge", "mobile": "Mobile", "tiny": "Tiny"}
MODES = {
    "eager": "Each operator is its own kernel.",
    "compiled": "Operators are fused where their data allow it.",
    "graphs": "Fused, and all kernels are replayed with one launch.",
    "eager_graphs": "Each operator is its own kernel, and all kernels are replayed with one launch, as serving engines decode.",
}
DISPATCHES = {"queued": "The CPU runs ahead of the device.", "synchronous": "The CPU waits for every kernel."}
# what a machine's time rests on -> what its dial calls that, and says
FIGURES = {
    "calibrated": ("measured", "This machine was measured. Predict with the curves fitted to it, or with the datasheet’s peaks."),
    "transferred": (
        "transferred",
        "Nobody has measured this machine. Predict from what other GPUs taught us, or from the datasheet’s peaks, which give a bound.",
    ),
}
BATCHES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
TOKENS = (1, 16, 32, 64, 128, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768)
# to replace a precision that a machine lacks: the same width first, then wider, then narrower
SUBSTITUTES = ("fp16", "bf16", "fp32", "tf32", "int8", "fp8", "fp64", "int4", "fp4")
OPTIONAL = (*SIZES, "phase", "dtype")
OWN = "own"  # the host that a machine has unless another is chosen; an address need not say so


def read(query: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """The settings in an address, others left out; sizes as integers where possible."""
    pairs = [(key, text) for key, text in query if key in DEFAULTS or key in (*OPTIONAL, HOST)]
    return {key: int(text) if key in SIZES and text.isdecimal() and len(text) < 16 else text for key, text in pairs}


def query(values: Values) -> list[tuple[str, str]]:
    """The settings as the engine and the address take them: only those that the workload has."""
    workload = values.get("workload")
    takes = settings(str(workload)) if workload in workloads() else OPTIONAL
    host = [(HOST, str(values[HOST]))] if values.get(HOST, OWN) != OWN else []
    return [(key, str(values[key])) for key in (*DEFAULTS, *OPTIONAL) if key in values and (key in DEFAULTS or key in takes)] + host


def dials(values: Values) -> list[Dial]:
    """The dials as they are for the chosen workload and machine; an unknown one is replaced by the default."""
    menus = choices()
    model = _find(menus["workloads"], values.get("workload"), DEFAULTS["workload"])
    machine = _find(menus["machines"], values.get("hardware"), DEFAULTS["hardware"])
    takes, mode = model["takes"], values.get("mode", DEFAULTS["mode"])
    decode = "phase" in takes and values.get("phase", takes["phase"]) == "decode"
    most = model["most_tokens"]
    return [
        _menu("workload", "Workload", menus["workloads"], values, _size(model)),
        _menu("hardware", "Machine", menus["machines"], values, _memory(machine)),
        choice("phase", "Phase", _plain(menus["phases"]), takes.get("phase"), hidden="phase" not in takes),
        span("batch", "Batch", 1, MOST, takes.get("batch", 1), log=True, whole=True, steps=BATCHES),
        _tokens("seq", "Sequence length", "tokens", most, takes.get("seq"), hidden="seq" not in takes or decode),
        _tokens("context", "Context", "tokens held", most - 1, takes.get("context"), hidden="context" not in takes or not decode),
        _precision(menus["formats"], machine, takes),
        choice("mode", "Mode", [(mode, mode.replace("_", " ")) for mode in menus["modes"]], DEFAULTS["mode"], help=MODES.get(mode, "")),
        _dispatch(menus["dispatches"], values, mode),
        _host(menus["hosts"], values, machine, mode),
        _figures(machine),
    ]  # fmt: skip


@cache
def usual() -> list[Dial]:
    """The dials before anything is set; a page holds these and receives only the differences."""
    return dials({})


def settle(values: Values) -> tuple[list[Dial], dict[str, Any], dict[str, dict[str, Any]]]:
    """Dials, where each stands, and those that could not stay where they were set: dial -> value asked for, value set, and why."""
    requested = dict(values)
    listed = dials(requested)
    for dial in listed[:2]:  # a model or machine that is not known is replaced first: the other dials depend on these two
        if why_not(dial, requested.get(dial["id"])):
            requested[dial["id"]] = dial["value"]
    listed = dials(requested)
    stand, moves = {}, {}
    for dial in listed:
        name, value = dial["id"], values.get(dial["id"])
        reason = why_not(dial, value)
        stand[name] = dial["value"] if reason else value
        if reason and value is not None and not dial.get("hidden"):
            moves[name] = {"asked": value, "value": dial["value"], "why": reason}
    return listed, stand, moves


def strict(values: Values) -> tuple[list[Dial], dict[str, Any]]:
    """Dials and where each stands, with the values asked for unchanged; only missing ones are filled in."""
    listed = dials(values)
    return listed, {dial["id"]: values.get(dial["id"], dial["value"]) for dial in listed}


def _find(items: list[dict[str, Any]], slug: Any, usual: str) -> dict[str, Any]:
    return next((item for item in items if item["slug"] == slug), None) or next(item for item in items if item["slug"] == usual)


def _plain(values: Iterable[str]) -> list[tuple[str, str]]:
    return [(value, value) for value in values]


def _menu(name: str, label: str, items: list[dict[str, Any]], values: Values, help: str) -> Dial:
    dial = select(name, label, [(item["slug"], item["name"]) for item in items], DEFAULTS[name], help=help)
    for option, item in zip(dial["options"], items, strict=True):
        option["group"] = _group(item)
    value = values.get(name, dial["value"])
    if all(item["slug"] != value for item in items):
        dial["options"].insert(0, {"value": value, "label": str(value)[:40], "disabled": "unknown"})
        dial["help"] = ""
    return dial


def _group(item: Mapping[str, Any]) -> str:
    """What it is listed under: a machine its context, a model its kind."""
    name = str(item.get("context") or item["group"])
    return CONTEXTS.get(name, name.capitalize())


def _size(model: Mapping[str, Any]) -> str:
    return f"{format_quantity(model['params'])} parameters" if model["params"] else ""


def _memory(machine: Mapping[str, Any]) -> str:
    return f"{_group(machine)}, {format_quantity(machine['memory'], 'B')} of memory"


def _tokens(name: str, label: str, unit: str, most: int, usual: Any, hidden: bool) -> Dial:
    steps = [n for n in TOKENS if n < most] + [most]
    return span(name, label, 1, most, min(usual or 1, most), log=True, whole=True, unit=unit, steps=steps, hidden=hidden)


def _precision(formats: list[str], machine: Mapping[str, Any], takes: Mapping[str, Any]) -> Dial:
    lacks = [fmt for fmt in formats if fmt not in machine["formats"]]
    reason = f"{machine['name']} has no hardware for {'it' if len(lacks) == 1 else 'them'}"
    usual = next((fmt for fmt in (takes.get("dtype", "fp16"), *SUBSTITUTES) if fmt in machine["formats"]), machine["formats"][0])
    return choice("dtype", "Precision", _plain(formats), usual, dict.fromkeys(lacks, reason))


def _dispatch(names: list[str], values: Values, mode: str) -> Dial:
    value = values.get("dispatch", DEFAULTS["dispatch"])
    dial = choice("dispatch", "Dispatch", _plain(names), DEFAULTS["dispatch"], help=DISPATCHES.get(value, ""))
    if mode in REPLAYED:
        dial |= {"idle": True, "help": "One launch covers all kernels, so there is nothing to queue."}
    return dial


def _figures(machine: Mapping[str, Any]) -> Dial:
    name, says = FIGURES.get(machine["basis"], ("measured", ""))
    options = [("measured", name), ("datasheet", "datasheet")]
    return choice("figures", "Figures", options, DEFAULTS["figures"], hidden=not says, help=says)


def _host(hosts: list[dict[str, Any]], values: Values, machine: Mapping[str, Any], mode: str) -> Dial:
    """Who launches. A processor launches by itself, so there is nothing to choose."""
    options = [(OWN, "typical server"), *((host["slug"], host["name"]) for host in hosts if host["slug"] != SERVER)]
    chosen = next((host for host in hosts if host["slug"] == values.get(HOST)), None)
    help = (
        f"{format_quantity(chosen['launch'], 's')} to launch an element-wise operator."
        if chosen
        else "The processor that launches the kernels."
    )
    dial = select(HOST, "Host", options, OWN, help=help, hidden=not machine["queued"])
    return dial | ({"idle": True, "help": "One launch covers all kernels."} if mode in REPLAYED else {})
