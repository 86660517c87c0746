"""A device answers all that is asked of every one, or it can't be made; what is optional says that it is unsupported."""

import pytest

from ironlaw.errors import UnknownName
from ironlaw.measure.devices.device import Device, Unsupported
from ironlaw.measure.devices.device_kinds import KINDS, device_name, kind_of

ANSWERS = {
    "label": lambda self: "Mine 1.0",
    "threads": lambda self: 4,
    "gemm": lambda self, fmt, n: lambda: None,
    "stream": lambda self, op, numel: lambda: None,
    "launches": lambda self: {},
}


def test_with_every_answer_it_can_be_made():
    made = type("Whole", (Device,), dict(ANSWERS))("mine", KINDS["mps"])
    assert (made.threads(), made.library, made.queued) == (4, "mine", True)
    # what not every library can do says so, and is left out of the measurement
    call = made.reference()
    assert list(made.cases()) == made.busy([call]) == made.method_notes() == []
    assert made.compiles(1.0) == ([], []) and made.fused_modes() == ()
    assert made.spread_stream(8) is made.memory() is made.power_limit() is made.release_memory() is None
    for ask in (lambda: made.record(call, 3), lambda: made.pointwise_chain((), (1, 1), "eager")):
        with pytest.raises(Unsupported):
            ask()
    with pytest.raises(Unsupported, match=r"Mine 1\.0"):
        made.layernorm_dropout_relu((1, 1), "eager")


@pytest.mark.parametrize("name", ANSWERS)
def test_with_one_left_out_it_can_not(name):
    half = type("Half", (Device,), {key: answer for key, answer in ANSWERS.items() if key != name})
    with pytest.raises(TypeError, match=f"abstract.*{name}"):
        half("mine", KINDS["cpu"])


def test_only_a_processor_does_its_work_within_the_call():
    assert [kind.name for kind in KINDS.values() if kind.on_host] == ["cpu"]


def test_a_kind_that_is_not_known_is_never_taken_for_a_processor():
    assert kind_of({"backend": "mps"}) is KINDS["mps"]
    for machine in ({"backend": "npu"}, {}):
        with pytest.raises(UnknownName, match="no kind of device"):
            kind_of(machine)


def test_what_the_registry_calls_them():
    assert [device_name(name) for name in ("cpu", "cuda", "rocm", "coreml", "tpu")] == ["cpu", "cuda", "cuda", "mps", "tpu"]
