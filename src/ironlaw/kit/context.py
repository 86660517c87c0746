"""The contexts of a lab, and the toggle between them: where something is deployed, or which data it is about.

A context is one `[[context]]` of questions.toml: `device` (a slug of the registry), `label` (a name without figures), and
`format`, the number format of the device's headline peak (`sparse = true` where the headline is a rate with 2:4 sparsity).
The learner's own machine is one of them once it is measured, and so are machines of their own files (registry/own_files.py), unless
`fixed = true` says that no other device can stand for a context: a box, a recorded pass. In a lab that no device changes, a context
has `data`, a name that its modules know, instead of `device` and `format`; all of its contexts do, and no machine of the learner's is
among them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ironlaw.calibration import local_machine
from ironlaw.engine.device.machine import Figure, Hardware
from ironlaw.errors import BadRegistry, BadValue, LedgerError, unknown
from ironlaw.registry.machines import hardware, known_local, own_machines
from ironlaw.widget.piece import Piece

if TYPE_CHECKING:
    from ironlaw.kit.question_sheet import Question

LOCAL = local_machine.SLUG
PREFERRED = ("fp16", "bf16", "fp32", "int8")
REGIMES = {"here": "This machine"}
OWNERS = ("my", "our", "the", "this", "your")  # names that begin so have their article
DATA = "data"  # the regime of a context that is not a device


@dataclass(frozen=True)
class Context:
    slug: str
    label: str
    regime: str  # cloud, edge, mobile, tiny, here, data
    device: Hardware | None
    format: str = ""
    sparse: bool = False

    @property
    def hardware(self) -> Hardware:
        if self.device is None:
            raise BadValue(f"context {self.slug!r} is data, and has no figures of a device; ask one that has")
        return self.device

    @property
    def peak(self) -> float:
        """The headline rate in FLOP/s, in `format`."""
        return float(self.hardware.peak(self.format, self.sparse))

    @property
    def regime_label(self) -> str:
        return REGIMES.get(self.regime, self.regime.capitalize())

    @property
    def menu_label(self) -> str:
        """The label in a list of devices: "Cloud: NVIDIA H100 SXM5", "This machine"."""
        return self.label if self.slug == LOCAL or self.regime == DATA else f"{self.regime_label}: {self.label}"

    @property
    def format_label(self) -> str:
        return self.format.upper() + (" with 2:4 sparsity" if self.sparse else "")

    def figure(self, name: str) -> Figure | None:
        """The sourced figure behind a number: "bandwidth", "memory", "power", "launch", or "peak" for the headline rate."""
        key = f"{'sparse' if self.sparse else 'peak'}.{self.format}" if name == "peak" else name
        return self.hardware.figures.get(key)


def contexts(entries: Sequence[Mapping[str, Any]]) -> tuple[Context, ...]:
    """The contexts of questions.toml, then this machine if it was measured and the lab is about devices."""
    kinds = {DATA if DATA in entry else "device" for entry in entries}
    if len(kinds) > 1:
        raise BadRegistry(
            "[[context]]: some have `device` and some `data`; a lab is about devices or about data, so give all of them the same"
        )
    if kinds == {DATA}:
        return tuple(Context(str(entry[DATA]), str(entry["label"]), DATA, None) for entry in entries)
    listed = []
    for entry in entries:
        machine = hardware(entry["device"])
        listed.append(Context(machine.slug, entry["label"], machine.context, machine, entry["format"], bool(entry.get("sparse", False))))
        listed[-1].peak  # noqa: B018 - a format that the device lacks is the author's mistake; say so now
    own = this_machine()
    others = () if any(entry.get("fixed") for entry in entries) else own_contexts()
    return (*listed, *others, *((own,) if own else ()))


def own_contexts() -> tuple[Context, ...]:
    """Machines of the user's own files; one that can't be used is left out here, and `ironlaw hardware` says why."""
    machines = [hardware(slug) for slug, why in own_machines().items() if not why]
    return tuple(Context(machine.slug, machine.name, machine.context, machine, _usual(machine)) for machine in machines)


def _usual(machine: Hardware) -> str:
    return next((fmt for fmt in PREFERRED if fmt in machine.peaks), next(iter(machine.peaks)))


def this_machine() -> Context | None:
    """The learner's machine, from the file that measuring it leaves in ironlaw's home; None where there is none yet.

    The file has the grammar of registry/hardware. A file that can't be read counts as absent: it must not keep a lab from opening.
    """
    machine = known_local()
    if machine is None:
        return None
    return Context(LOCAL, "This machine", "here", machine, _usual(machine))


def the(context: Context) -> str:
    """A context in a sentence: "the Cortex-M7 MCU", "this machine", "our workstation" where somebody named theirs so."""
    if context.slug == LOCAL:
        return "this machine"
    first, _, rest = context.label.partition(" ")
    return f"{first.lower()} {rest}" if first.lower() in OWNERS else f"the {context.label}"


def current(contexts: Sequence[Context], questions: Mapping[str, Question], ledger: Any, lab: str) -> Context:
    """Where a lab stands: at what was chosen, saved or asked about last in it. A question that is about one context brings it when it
    is committed. One that is about whichever device is chosen is never about the learner's own machine, and brings the first instead.
    A lab that is not begun opens at its first question's; else on the device that the learner chose last in another lab, which is never
    their own machine; else at its first."""
    shared = [context.slug for context in contexts if context.device is not None and context.slug != LOCAL]
    asked = next((question.context for question in questions.values()), "")
    try:
        slugs, events = [contexts[0].slug, ledger.track(shared) if shared else None, asked], ledger.events(lab)
    except LedgerError:  # the page says so
        slugs, events = [contexts[0].slug, asked], []
    known = {context.slug: context for context in contexts}
    stands = [slug for slug in slugs if slug in known][-1]
    for event in events:
        slug = None
        if event.kind == "prediction" and event.question in questions:
            question = questions[event.question]
            slug = question.context or (contexts[0].slug if stands == LOCAL and question.kind == "prediction" else None)
        elif event.kind in ("context", "design"):
            slug = event.payload.get("context")
        stands = slug if isinstance(slug, str) and slug in known else stands
    return known[stands]


def pick(contexts: Sequence[Context], slug: str) -> Context:
    for context in contexts:
        if context.slug == slug:
            return context
    raise unknown("context", slug, [c.slug for c in contexts])


def toggle(name: str, label: str, contexts: Sequence[Context], current: Context, choose: Callable[[str], None]) -> Piece:
    def compute(state: Mapping[str, Any]) -> dict[str, Any]:
        choose(str(state.get("value")))
        return {}

    return Piece("toggle", {"id": name, "label": label, "options": options(contexts), "value": current.slug}, compute)


def options(contexts: Sequence[Context]) -> list[dict[str, str]]:
    """What a toggle offers: the device by its name, and where such a one stands."""
    if not contexts:
        raise BadRegistry("a lab needs at least one [[context]] in questions.toml")
    notes = ["" if c.regime == DATA or c.regime_label == c.label else c.regime_label for c in contexts]
    return [{"value": c.slug, "label": c.label, "note": note} for c, note in zip(contexts, notes, strict=True)]
