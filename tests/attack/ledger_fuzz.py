"""Ledgers made from the schema that writer, import and readers share, and the same ledgers with something wrong in them."""

import copy
from functools import singledispatch

from hypothesis import strategies as st

from ironlaw.ledger import KINDS
from ironlaw.ledger.payload_fields import ByKind, Field, Flag, Id, Items, Maybe, Moment, Name, OneOf, Positive, Record, Text, Whole
from ironlaw.measure.software_host import machine

OWNER = "00000000-0000-4000-8000-00000000000a"
LABS = ("lab_01_magnitude", "lab_07_fusion", "lab_11_roofline", "review", "lab_99_gone", "..", "é" * 200, "é<b>")
# names that mean something to a reader, and some that do not
NAMES = (
    "act1", "act2", "act1_reflection", "act2_reflection", "ridge_point", "kv_total", "gemm_roof", "tiny_ops", "ds_cnn", "three_op_chain",
    "pointwise_chain", "gemm_sweep", "nothing", "add", "matmul", "eager", "blocked", "compiled", "scale_overestimated", "h100_sxm",
    "<script>alert(1)</script>", "{{ slot }}", "gone", "a" * 200,
)  # fmt: skip
CHOICES = ("e2", "e6", "algorithms", "compute", "memory", 2, None, 1.5, [], {"a": 1}, "no such option", "")
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**80), 2**80)
    | st.sampled_from([0, -1, 10**299, 5e-324, 1.7e308, -0.0])
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(("question", "rows", "a")), inner, max_size=3),
    max_leaves=6,
)
DESIGN = {"fusion_enabled": True, "arithmetic_intensity_unfused": 0.17, "arithmetic_intensity_fused": 0.5, "context": "h100_sxm"}


@singledispatch
def values(field: Field):
    """Values that the field accepts."""
    return st.sampled_from(CHOICES) | JSON


@values.register
def _(field: Name):
    names = [name[: field.longest] for name in NAMES] + ([""] if field.empty else [])
    return st.sampled_from(names)


@values.register
def _(field: Text):
    return st.text(max_size=20) | st.just("x" * 5_000)


@values.register
def _(field: Whole):
    return st.sampled_from(sorted({field.low, field.high, *(n for n in (1, 4, 24, 64, 768, 1024) if field.low <= n <= field.high)}))


@values.register
def _(field: Positive):
    return st.sampled_from([5e-324, 1e-9, 2e-6, 1, 3.5, field.high])


@values.register
def _(field: Flag):
    return st.booleans()


@values.register
def _(field: Moment):
    return st.sampled_from(("2026-01-31T12:00:00Z", "2031-01-31T12:00:00+02:00", "9999-12-31T23:59:59.999999Z", "0001-01-01T00:00:00Z"))


@values.register
def _(field: Id):
    return st.uuids().map(str)


@values.register
def _(field: OneOf):
    return st.sampled_from(field.words)


@values.register
def _(field: Maybe):
    return st.none() | values(field.inner)


@values.register
def _(field: Items):
    return st.lists(values(field.inner), min_size=field.least, max_size=min(field.most, max(field.least, 4)))


@values.register
def _(field: Record):
    return st.fixed_dictionaries({key: values(inner) for key, inner in field.needs.items()},
                                 optional={key: values(inner) for key, inner in field.optional.items()} | {"unknown": JSON})  # fmt: skip


@values.register
def _(field: ByKind):
    known = [values(record).map(lambda row, kind=kind: {**row, "kind": kind}) for kind, record in field.kinds.items()]
    return st.one_of(*known, st.just({"kind": "of a later version", "wall_s": "?"}))


def payloads(kind):
    if kind == "design":
        return st.dictionaries(st.sampled_from(list(DESIGN)), JSON, max_size=4) | st.just(DESIGN)
    if kind == "measured":  # of this machine: others are passed over
        return values(KINDS[kind]).map(lambda payload: {**payload, "machine": machine()})
    return values(KINDS[kind]) if kind in KINDS else st.dictionaries(st.text(max_size=3), JSON, max_size=3)


@st.composite
def events(draw):
    kind = draw(st.sampled_from([*KINDS, "of a later version"]))
    return {
        "id": str(draw(st.uuids())), "learner": draw(st.just(OWNER) | st.uuids().map(str)),
        "epoch": draw(st.sampled_from([1, 1, 1, 2, 1_000_000])), "lab": draw(st.sampled_from(LABS)),
        "attempt": draw(st.sampled_from([1, 1, 2, 7, 1_000_000])), "kind": kind,
        "payload": draw(payloads(kind)), "time": draw(values(Moment())),
    }  # fmt: skip


def export(listed):
    learner = {"id": OWNER, "name": None}
    return {"format": "ironlaw-ledger/1", "exported": "2026-01-31T12:00:00Z", "learner": learner, "events": listed}


@st.composite
def ledgers(draw, most=10):
    """An export that the schema accepts, or one in which up to two leaves were replaced or removed."""
    data = export(draw(st.lists(events(), max_size=most, unique_by=lambda event: event["id"])))
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 2]))):
        data = _mutate(draw, copy.deepcopy(data))
    return data


def _mutate(draw, data):
    places = [
        (holder, key)
        for event in data["events"]
        for holder in (event, *([event["payload"]] if isinstance(event.get("payload"), dict) else []))
        for key in list(holder)
    ]
    if places:
        holder, key = places[draw(st.integers(0, len(places) - 1))]
        if draw(st.booleans()):
            holder.pop(key)
        else:
            holder[key] = draw(JSON | st.sampled_from([float("nan"), "x" * 300, 10**400]))
    return data
