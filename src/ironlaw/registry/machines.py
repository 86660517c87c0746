"""registry/hardware/*.toml -> Hardware, and the machine that was measured here."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from ironlaw.calibration import local_machine
from ironlaw.engine.device.host import Host
from ironlaw.engine.device.machine import Hardware
from ironlaw.errors import BadRegistry, BadValue, IronlawError, UnknownName, unknown
from ironlaw.registry.calibrations import calibration, with_scatter
from ironlaw.registry.loader import folder, normal, read, slugs
from ironlaw.registry.machine_files import load, text
from ironlaw.registry.transfers import taught

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ironlaw.backends.rows import Row
    from ironlaw.calibration.machine_calibration import Calibration
    from ironlaw.calibration.transfer.model import Transfer
    from ironlaw.engine.device.cost import Cost
    from ironlaw.engine.device.machine import Plan
    from ironlaw.engine.device.types import Op

SERVER = "typical"  # the host that launches captured models, unless another is named
COMPILED_ON = "h200_sxm"  # whose host stands for one that compiled no models
BRIEFLY = f"measured briefly: its bandwidth and rates are this machine's, the rest is known from others; {local_machine.AGAIN}"
CORRECTED = "corrected here: ironlaw's evidence of the {what}, corrected by {count} operators that were measured on this machine"
OWN_ROWS = "its curves, corrected by {count} operators of models that were measured on this machine"
OTHERS = "kernels that were not timed here take what other machines taught, with this machine's own rates"


@cache
def reported() -> dict[str, str]:
    """A GPU's name as its driver reports it -> slug."""
    return {name: slug for slug in slugs("hardware") for name in read(folder("hardware") / f"{slug}.toml").get("reported", ())}


def hardware(name: str) -> Hardware:
    """A machine by slug or alias (`"h100_sxm"`, `"h100"`), or the one that was measured here (`"this"`)."""
    if not isinstance(name, str):
        raise BadValue(f"a machine has a name, such as 'h100', and this is {name!r}; `ironlaw hardware` lists them")
    if name.strip().endswith(".toml"):
        from ironlaw.registry import own_files  # few name a file

        return own_machine(own_files.named_by_path("hardware", name))
    return local() if is_local(name) else registered(name)


def own_machine(slug: str) -> Hardware:
    """A machine of the user's own file: predicted from what was measured on it, where somebody's measurement was added, or from what others
    taught, as any machine that nobody measured."""
    from ironlaw.registry import own_files

    path, measured = own_files.checked("hardware", slug), local_machine.evidence_folder(slug)
    files = path, local_machine.curves(slug), measured / local_machine.MACHINE, measured / local_machine.OPERATORS
    return _own_machine(path, slug, local_machine.stamp(*files))


@lru_cache(maxsize=32)
def _own_machine(path: Path, slug: str, _: local_machine.Stamp) -> Hardware:
    try:
        if local_machine.curves(slug).exists():
            return replace(measured_machine(path, slug), slug=slug, wires=partial(_wires, slug))
        return _predictable(replace(load(path), slug=slug, calibration=None))
    except OSError as error:
        raise BadRegistry(f"{path} can't be read ({error.strerror or error}); check its permissions") from None
    except BadRegistry as error:
        raise BadRegistry(str(error).replace(path.name, str(path), 1)) from None


def _predictable(machine: Hardware) -> Hardware:
    """With its host, its wires and what other machines taught."""
    server = _server if machine.kind == "gpu" and machine.dispatch == "queued" else None
    return replace(machine, taught=taught(machine, registered), server=server, wires=partial(_wires, machine.slug))


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


def registered(name: str) -> Hardware:
    """A machine of the registry or of the user's own files, by slug or alias."""
    if normal(name) in slugs("hardware"):
        return _registered(normal(name))
    from ironlaw.registry import own_files  # a lab names machines by their slugs
    from ironlaw.registry.machine_names import aliases

    slug = aliases().get(normal(name))
    if slug is not None:
        return _registered(slug)
    own = own_files.find("hardware", name)
    if own is None:
        names = (*aliases(), *own_files.own("hardware"), *local_machine.NAMES[:1])
        raise unknown("hardware", name, names, own_files.how("hardware", normal(name)))
    return own_machine(own)


@cache
def _registered(slug: str) -> Hardware:
    return _predictable(load(folder("hardware") / f"{slug}.toml"))


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
        return replace(measured_machine(path, local_machine.SLUG), aliases=local_machine.NAMES[:-1])
    except OSError as error:
        raise BadRegistry(f"{path} can't be read ({error.strerror or error}); check its permissions, or {again}") from None
    except (BadRegistry, UnknownName) as error:  # unknown: the machine of the registry that it names
        raise BadRegistry(str(error) if again in str(error) else f"{path} can't be used: {error}; or {again}") from None


def measured_machine(path: Path, slug: str) -> Hardware:
    """A machine by its file, its curves and the operators that were timed on it: this one, or one that somebody added."""
    again = local_machine.AGAIN
    machine, curves = load(path), local_machine.calibration(slug)
    own = curves if curves and curves.backend == machine.backend else None
    caveats = machine.caveats if own is curves else (*machine.caveats, f"its stored curves are of another device; {again}")
    sold = text(path.name, read(path), "datasheet")  # the machine of the registry that it is, where its driver says so
    if curves is not None and own is curves and sold and curves.backend == registered(sold).backend:
        own, caveats = corrected(machine, curves, registered(sold), caveats, local_machine.op_rows(slug))
    elif own is not None and (rows := local_machine.op_rows(slug)):
        own = learnt_here(own, rows, machine)
        of_models = len(local_machine.model_rows(slug))
        caveats = (*caveats, OWN_ROWS.format(count=of_models)) if of_models else caveats
    if own is not None:
        own, whose = with_scatter(own)
        caveats = (*caveats, f"likely: no model was measured here, so models scatter as on {whose}") if whose else caveats
    if any(local_machine.NOISY in figure.source for figure in machine.figures.values()):
        caveats = (*caveats, f"noisy: measured while the machine was busy, so that every time may be far too long; {again}")
        own = local_machine.noisy(own, local_machine.noise_sd(slug)) if own is not None else None
    if own is None and sold:
        machine, caveats = briefly_measured(machine, registered(sold)), (*caveats, BRIEFLY)
    return replace(machine, calibration=own, caveats=caveats)


def corrected(
    seen: Hardware, own: Calibration, sold: Hardware, caveats: tuple[str, ...], rows: Sequence[Row]
) -> tuple[Calibration, tuple[str, ...]]:
    """A GPU whose model the registry has curves of: those, corrected by the operators that were measured here. Of any other model, curves
    of its own, and for kernels that were not timed here what other machines taught."""
    prior = calibration(sold.slug)
    if not rows:
        return own, caveats
    if prior is None:
        brief = briefly_measured(seen, sold)
        others = taught(brief, registered)
        taught_it = None if others is None else partial(_unseen, others().given(rows, brief), brief)
        return learnt_here(own, rows, seen, taught_it), (*caveats, OTHERS) if taught_it else caveats
    known = replace(prior, host=own.host, graph_gap=own.graph_gap or prior.graph_gap)
    return known.given(rows, seen), (*caveats, CORRECTED.format(count=len(rows), what=sold.name))


def learnt_here(
    own: Calibration, rows: Sequence[Row], machine: Hardware, before: Callable[[Op, Hardware, Plan], Cost] | None = None
) -> Calibration:
    """Curves that were fitted to rows of this machine, and what the rows leave unexplained, shared among operators that are alike.
    `before`: what is known of an operator whose kernels nobody timed here."""
    return replace(own, before=before).given(rows, machine, alone=True)


def _unseen(taught_it: Transfer, machine: Hardware, op: Op, _: Hardware, plan: Plan) -> Cost:
    """What other machines taught of an op, for a machine with its datasheet's figures, and what the rows measured here say of that."""
    return taught_it.cost(op, machine, plan)


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
    """The slugs of all machines; the user's own come after the registry's, and the one that was measured here last."""
    own = tuple(slug for slug, why in own_machines().items() if not why)
    return (*slugs("hardware"), *own, *((local_machine.SLUG,) if known_local() else ()))


def own_machines() -> dict[str, str]:
    """The user's own machines by slug, each with why it can't be used, or nothing."""
    said = {}
    for slug in map(normal, (path.stem for path in local_machine.own_files("hardware"))):
        try:
            own_machine(slug)
            said[slug] = ""
        except IronlawError as error:
            said[slug] = str(error)
    return said
