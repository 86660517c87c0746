"""registry/hardware/*.toml -> Hardware, and the machine that was measured here."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any

from ironlaw.backends import find, names
from ironlaw.calibration import local_machine
from ironlaw.engine.device.host import Host
from ironlaw.engine.device.machine import SCHEDULES, Figure, Hardware, Level
from ironlaw.errors import BadRegistry, BadValue, IronlawError, UnknownName, unknown
from ironlaw.registry.calibrations import calibration, with_scatter
from ironlaw.registry.chip_fields import achieved, links, process
from ironlaw.registry.loader import figure, folder, normal, quantity, read, slugs
from ironlaw.registry.transfers import taught

KINDS = ("gpu", "cpu", "tpu", "npu", "mcu")
WITHOUT_BACKEND = ("rocm", "xpu", "xla", "coreml", "bare")  # what a file may name beside ironlaw.backends: such machines get a bound
NO_BACKEND = "bound: ironlaw does not know how libraries run on {backend} ({slug}), so datasheet figures are all there is"
SERVER = "typical"  # the host that launches captured models, unless another is named
COMPILED_ON = "h200_sxm"  # whose host stands for one that compiled no models
BRIEFLY = f"measured briefly: its bandwidth and rates are this machine's, the rest is known from others; {local_machine.AGAIN}"
CONTEXTS = ("cloud", "edge", "mobile", "tiny", "desktop")


@cache
def reported() -> dict[str, str]:
    """A GPU's name as its driver reports it -> slug."""
    return {name: slug for slug in slugs("hardware") for name in read(folder("hardware") / f"{slug}.toml").get("reported", ())}


def hardware(name: str) -> Hardware:
    """A machine by slug or alias (`"h100_sxm"`, `"h100"`), or the one that was measured here (`"this"`)."""
    if not isinstance(name, str):
        raise BadValue(f"a machine has a name, such as 'h100', and this is {name!r}; `ironlaw hardware` lists them")
    return local() if is_local(name) else registered(name)


def _server() -> Host:
    from ironlaw.registry import hosts

    return hosts.registered(SERVER)


def _wires(slug: str, kind: str, ranks: int, size: float) -> float | None:
    """Over the machine's own box; None where the registry knows none, or none that can be joined to so many."""
    from ironlaw.engine.cluster.library import collective
    from ironlaw.registry.boxes import box_with

    box = box_with(slug)
    if box is None or (ranks > box.devices and not box.nics):
        return None
    return float(collective(box, kind, ranks, size))


@cache
def registered(name: str) -> Hardware:
    if normal(name) in slugs("hardware"):
        machine = load(folder("hardware") / f"{normal(name)}.toml")
        server = _server if machine.kind == "gpu" and machine.dispatch == "queued" else None
        return replace(machine, taught=taught(machine, registered), server=server, wires=partial(_wires, machine.slug))
    from ironlaw.registry.machine_names import aliases

    slug = aliases().get(normal(name))
    if slug is None:
        names = (*aliases(), *local_machine.NAMES[:1])
        raise unknown("hardware", name, names, f"registry/hardware/{normal(name)}.toml with its figures and their sources")
    return registered(slug)


def is_local(name: str) -> bool:
    """Whether a name means the machine that was measured here."""
    return normal(name) in local_machine.NAMES


def local() -> Hardware:
    """This machine. Not measured yet, or a file that can't be read: an error with the next step."""
    if not local_machine.figures().exists():
        raise UnknownName(local_machine.FIRST)
    return _local(local_machine.figures(), local_machine.state())


def known_local() -> Hardware | None:
    """This machine, or None where it was not measured or its file can't be read: for what must open all the same."""
    try:
        return local()
    except IronlawError:
        return None


@lru_cache(maxsize=4)
def _local(path: Path, _: local_machine.Stamp) -> Hardware:
    again = local_machine.AGAIN
    try:
        machine, curves = load(path), local_machine.calibration()
        own = curves if curves and curves.backend == machine.backend else None
        caveats = machine.caveats if own is curves else (*machine.caveats, f"its stored curves are of another device; {again}")
        if own is not None:
            own, whose = with_scatter(own)
            caveats = (*caveats, f"likely: no model was measured here, so models scatter as on {whose}") if whose else caveats
        if any(local_machine.NOISY in figure.source for figure in machine.figures.values()):
            caveats = (*caveats, f"noisy: measured while the machine was busy, so that every time may be far too long; {again}")
            own = local_machine.noisy(own, local_machine.noise_sd()) if own is not None else None
        sold = _text(path.name, read(path), "datasheet")  # the machine of the registry that it is, where its driver says so
        if own is None and sold:
            machine, caveats = briefly_measured(machine, registered(sold)), (*caveats, BRIEFLY)
        return replace(machine, aliases=local_machine.NAMES[:-1], calibration=own, caveats=caveats)
    except OSError as error:
        raise BadRegistry(f"{path} can't be read ({error.strerror or error}); check its permissions, or {again}") from None
    except (BadRegistry, UnknownName) as error:  # unknown: the machine of the registry that it names
        raise BadRegistry(str(error) if again in str(error) else f"{path} can't be used: {error}; or {again}") from None


def briefly_measured(seen: Hardware, sold: Hardware) -> Hardware:
    """A GPU of the registry with what was seen of it here: too little for curves, but its rates pull in what other machines taught."""
    rates = {name.removeprefix("peak."): one for name, one in seen.figures.items() if name.startswith(("bandwidth", "peak."))}
    sheet = {"bandwidth": sold.bandwidth, **sold.peaks}  # a figure that is the datasheet's own was not seen
    known = {f"achieved.{name}": one for name, one in rates.items() if name in sheet and one.value != sheet[name]}
    figures = {**sold.figures, **known, "launch": seen.figures["launch"]}
    host = local_machine.host() if local_machine.launcher().exists() else None
    server = None if host is None else lambda: host
    machine = replace(sold, slug=seen.slug, name=seen.name, figures=figures, launch=seen.launch, note=seen.note, server=server)
    return replace(machine, taught=taught(machine, registered))


def compile_cost(machine: Hardware) -> tuple[float, str]:
    """Host seconds to compile one kernel, and whose host that was: the machine's own, or else the one most models were compiled on."""
    for known in (machine, registered(COMPILED_ON)):
        if known.calibration and known.calibration.compile_kernel_s:
            return known.calibration.compile_kernel_s, known.name
    raise BadRegistry(f"no compile time is stored for {COMPILED_ON}; run: python scripts/calibrate.py {COMPILED_ON}")


def machines() -> tuple[str, ...]:
    """The slugs of all machines; the one that was measured here comes last."""
    return (*slugs("hardware"), local_machine.SLUG) if known_local() else slugs("hardware")


def load(path: Path) -> Hardware:
    """One machine from one file, every figure checked."""
    data, slug = read(path), path.stem
    figures: dict[str, Figure] = {}
    for key, unit in (("memory", "B"), ("bandwidth", "B/s"), ("power", "W"), ("launch", "s")):
        if key not in data:
            raise BadRegistry(f"hardware {slug} has no [{key}]; add it with value, source and date to {path.name}")
        figures[key] = figure(f"{path.name} [{key}]", data[key], unit)
        if key == "memory" and "reserved" in data:
            figures["reserved"] = _reserved(path, data["reserved"], figures["memory"])
    if "flash" in data:
        figures["flash"] = figure(f"{path.name} [flash]", data["flash"], "B")
    for group in ("peak", "sparse", "vector"):
        for fmt, table in _table(path, data, group).items():
            figures[f"{group}.{fmt}"] = figure(f"{path.name} [{group}.{fmt}]", table, "FLOP/s", fmt)
    if not data.get("peak"):
        raise BadRegistry(f"hardware {slug} has no peak; add [peak.fp16] (or another format) with value, source and date to {path.name}")
    figures |= achieved(path.name, data, figures)
    if not isinstance(data.get("aliases", []), list) or not all(isinstance(name, str) for name in data.get("aliases", ())):
        raise BadRegistry(f'{path.name}: aliases is {data["aliases"]!r}; write a list, such as ["h100"]')
    for key, allowed in (("kind", KINDS), ("backend", (*names(), *WITHOUT_BACKEND)), ("context", CONTEXTS)):
        if data.get(key) not in allowed:
            raise BadRegistry(f"{path.name}: {key} is {data.get(key)!r}; choose one of {', '.join(allowed)}")
    backend = find(data["backend"])
    return Hardware(
        slug=slug, name=_text(path.name, data, "name", slug), peaks=_rates(figures, "peak"), bandwidth=figures["bandwidth"].value,
        capacity=figures["memory"].value, power=figures["power"].value, launch=figures["launch"].value, kind=data["kind"],
        backend=data["backend"], context=data["context"], sparse=_rates(figures, "sparse"), vector=_rates(figures, "vector"),
        levels=_levels(path, data), units=_units(path, _table(path, data, "units")), figures=figures,
        aliases=tuple(data.get("aliases", ())), note=_text(path.name, data, "note"),
        dispatch=_dispatch(path, data, backend.dispatch if backend else "queued"),
        caveats=() if backend else (NO_BACKEND.format(slug=slug, backend=data["backend"]),),
        calibration=calibration(slug) if backend and slug != local_machine.SLUG else None,
        narrowed=backend.narrowed if backend else {},
        reserved=figures["reserved"].value if "reserved" in figures else 0.0,
        flash=figures["flash"].value if "flash" in figures else 0.0, activations=_activations(path, data),
        links=links(path.name, data), process=process(path.name, data),
    )  # fmt: skip


def _table(path: Path, data: dict[str, Any], key: str) -> dict[str, Any]:
    table = data.get(key, {})
    if not isinstance(table, dict):
        raise BadRegistry(f"{path.name}: {key} is {table!r:.60}; write a table, [{key}]")
    return table


def _text(where: str, table: dict[str, Any], key: str, usual: str = "") -> str:
    value = table.get(key, usual)
    if not isinstance(value, str):
        raise BadRegistry(f"{where}: {key} is {value!r:.60}; write text")
    return value


def _reserved(path: Path, table: Any, memory: Figure) -> Figure:
    kept = figure(f"{path.name} [reserved]", table, "B")
    if kept.value >= memory.value:
        raise BadRegistry(f"{path.name} [reserved] is {table['value']!r}, which leaves nothing of [memory]; give what the system keeps")
    return kept


def _activations(path: Path, data: dict[str, Any]) -> str:
    """The level that holds activations where weights stay in flash."""
    level, known = _text(path.name, data, "activations"), [str(table.get("name")) for table in data.get("level", ())]
    if bool(level) != ("flash" in data):
        if "flash" in data:
            raise BadRegistry(
                f'{path.name} has [flash] alone; add activations = "sram", or another [[level]] that holds what is not a weight'
            )
        raise BadRegistry(f"{path.name} has activations alone; add [flash], which holds the weights then")
    if level and level not in known:
        raise BadRegistry(f"{path.name}: activations is {level!r}; name one of its levels: {', '.join(known)}")
    return level


def _dispatch(path: Path, data: dict[str, Any], usual: str) -> str:
    dispatch = data.get("dispatch", usual)
    if dispatch not in SCHEDULES:
        raise BadRegistry(f"{path.name}: dispatch is {dispatch!r}; choose one of {', '.join(SCHEDULES)}, or leave it out")
    return str(dispatch)


def _rates(figures: dict[str, Figure], group: str) -> dict[str, float]:
    return {f.format: f.value for key, f in figures.items() if key.startswith(group + ".")}


def _levels(path: Path, data: dict[str, Any]) -> tuple[Level, ...]:
    levels = []
    tables = data.get("level", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise BadRegistry(f"{path.name}: level is {tables!r:.60}; write each as a table under [[level]]")
    for table in tables:
        if not _text(path.name, table, "name"):
            raise BadRegistry(f"{path.name}: a [[level]] has no name; add `name = …` there (registers, shared, l2, main)")
        where = f"{path.name} [[level]] {table['name']}"
        sized = figure(where, {**table, "value": table.get("size", "")}, "B")
        speed = quantity(f"{where} bandwidth", table.get("bandwidth"), "B/s")
        levels.append(
            Level(
                table["name"],
                _text(where, table, "label", table["name"]),
                sized.value,
                speed,
                sized.source,
                sized.date,
                sized.estimate,
                sized.why,
            )
        )
    return tuple(levels)


def _units(path: Path, table: dict[str, Any]) -> dict[str, float]:
    units = {}
    for key, value in table.items():
        where = f"{path.name} [units] {key}"
        if (isinstance(value, (int, float)) and not 0 < value < float("inf")) or not isinstance(value, (int, float, str)):
            raise BadRegistry(f"{where} is {value!r}; write a number above 0, or a text with its unit")
        units[key] = quantity(where, value, "Hz" if key.endswith("clock") else "B") if isinstance(value, str) else float(value)
    return units
