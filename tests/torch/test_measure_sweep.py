"""The sweep of a GPU, tried without one: every call on the meta device, a few for real on the processor."""

import time
from collections import Counter
from inspect import getclosurevars
from math import prod
from pathlib import Path
from typing import Any

import pytest
from how_thorough import RELEASE

torch = pytest.importorskip("torch")

from ironlaw.backends.evidence_ops import OPS  # noqa: E402
from ironlaw.errors import BadValue  # noqa: E402
from ironlaw.measure.devices.torch_cpu import TorchCpu  # noqa: E402
from ironlaw.measure.progress_lines import Cancelled  # noqa: E402
from ironlaw.measure.suites.cuda import cuda_sweep as sweep_cuda  # noqa: E402
from ironlaw.measure.suites.cuda.cases.shapes import conv, square  # noqa: E402
from ironlaw.measure.suites.cuda.cuda_sweep import cases, main, sweep  # noqa: E402
from ironlaw.measure.suites.cuda.inputs import Pool, SweepInputs  # noqa: E402
from ironlaw.measure.suites.cuda.parts import PARTS, SweepPart, named  # noqa: E402
from ironlaw.registry.evidence import read  # noqa: E402

SMALL: list[tuple[str, dict[str, Any]]] = [
    ("relu", dict(numel=1000, dtype="fp16")),
    ("linear", dict(m=3, n=8, k=4, bias=1, dtype="fp16")),
    conv(1, square(4, 8, 4, 3, 1, 1), "nhwc", "tf32"),
    ("softmax", dict(rows=4, cols=0, dtype="nonsense")),
    ("sdpa", dict(b=1, h=4, hkv=2, sq=5, sk=5, d=8, causal=1, dtype="fp32")),
    ("embedding_backward", dict(vocab=10, dim=4, tokens=6, dtype="fp32")),
    ("relu", dict(numel=2000, dtype="fp16")),
]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """The part `norms` is a handful of cases, one of which can't be run."""
    monkeypatch.setitem(PARTS, "norms", SweepPart((lambda: iter(SMALL),), 60.0, 2))


# ---- the calls


NOT_ON_META = {"adamw", "weight_int4_mm", "lstm", "gru", "rnn_tanh", "sdpa_backward", "max_pool2d_backward", "topk"}


@pytest.mark.parametrize("part", PARTS)
def test_calls_give_what_the_engine_counts(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cases without their values and as they were written: the result has as many elements as the engine's op. Of each kind the first
    and one in eight, and all before a release."""
    monkeypatch.setattr(torch, "compile", lambda function, dynamic: function)
    every = 1 if RELEASE else 8
    inputs, kinds = SweepInputs("meta"), Counter[tuple[Any, ...]]()
    with torch.no_grad():
        for case in cases(PARTS[part], inputs):
            if case.op in NOT_ON_META:
                continue
            kind = (case.op, *sorted((name, value if isinstance(value, str) else "") for name, value in case.params.items()))
            kinds[kind] += 1
            if kinds[kind] % every != 1 % every:
                continue
            made = case.prepare()()
            if case.op in OPS and isinstance(made, torch.Tensor):
                assert made.numel() == prod(OPS[case.op](case.params).outputs[0].shape), (case.op, case.params)
    assert kinds.total() >= 15


@pytest.mark.parametrize(
    ("op", "params", "shape"),
    [
        ("sdpa_backward", dict(b=1, h=2, s=8, d=4, causal=1, dtype="fp32"), (1, 2, 8, 4)),
        ("max_pool2d_backward", dict(n=1, c=2, h=8, w=8, k=3, stride=2, pad=1, dtype="fp32"), (1, 2, 8, 8)),
        ("topk", dict(rows=3, cols=8, k=2, dtype="fp32"), (3, 2)),
        ("lstm", dict(steps=5, batch=2, features=4, hidden=6, layers=2, both=1, dtype="fp32"), (5, 2, 12)),
        ("gru", dict(steps=5, batch=2, features=4, hidden=6, layers=1, both=0, dtype="fp32"), (5, 2, 6)),
        ("sort", dict(numel=40, dtype="int64"), (40,)),
        ("histogram", dict(numel=40, dtype="int64"), (8,)),
        ("grouped_mm", dict(m=6, experts=2, k=16, n=32, dtype="bf16"), (6, 32)),
    ],
)
def test_calls_on_the_processor(op: str, params: dict[str, Any], shape: tuple[int, ...]) -> None:
    (case,) = cases(SweepPart((lambda: iter([(op, params)]),), 1.0, 1), SweepInputs("cpu"))
    with torch.no_grad():
        made = case.prepare()()
    assert (made if isinstance(made, torch.Tensor) else made[0]).shape == shape


def test_an_optimiser_step_moves_its_weights() -> None:
    (case,) = cases(SweepPart((lambda: iter([("adamw", dict(tensors=2, size=3, dtype="fp32"))]),), 1.0, 1), SweepInputs("cpu"))
    with torch.no_grad():
        step = case.prepare()
        step()
    (group,) = step.__self__.param_groups  # type: ignore[attr-defined]
    assert all((w < 0).all() for w in group["params"])


def test_tokens_go_back_to_their_places() -> None:
    (case,) = cases(SweepPart((lambda: iter([("index_put", dict(numel=50, dtype="int64"))]),), 1.0, 1), SweepInputs("cpu"))
    call = case.prepare()
    call()
    used = getclosurevars(call).nonlocals
    assert used["target"][used["order"]].tolist() == list(range(50))


def test_functions_to_compile_return_what_they_say() -> None:
    """Bytes read and written are those of the tensors that go in and come out; vectors aside."""
    from ironlaw.measure.suites.cuda.calls.generated import WRITTEN

    inputs, seen = SweepInputs("meta"), set()
    for op, p in PARTS["generated"].specs():
        if op != "generated" or p["function"] in seen:
            continue
        seen.add(p["function"])
        shapes, function = WRITTEN[p["function"]]
        given = [inputs.act(shape, p["dtype"]) for shape in shapes(p)]
        made = function(*given)
        out = made if isinstance(made, tuple) else (made,)
        assert sum(t.nbytes for t in out) == p["written_bytes"], p
        assert sum(t.nbytes for t in given if t.dim() != 1 or "numel" in p) == p["read_bytes"], p
    assert seen == set(WRITTEN)


def test_weights_are_walked_and_activations_are_not() -> None:
    pool = Pool(1024, "cpu")
    places = [pool.next((16, 16), torch.float32).data_ptr() for _ in range(5)]
    assert [place - places[0] for place in places] == [0, 1024, 2048, 3072, 0]
    assert pool.next((4096,), torch.float32).numel() == 4096  # the buffer is replaced by one that is large enough
    assert pool.buffers[torch.float32].numel() == 4096
    inputs = SweepInputs("cpu")
    first = inputs.act((8, 8)).data_ptr()
    assert inputs.act((8, 8)).data_ptr() != first
    inputs.reset()
    assert inputs.act((8, 8)).data_ptr() == first
    assert inputs.act((1, 2, 3, 4), nhwc=True).is_contiguous(memory_format=torch.channels_last)


# ---- the sweep


def test_a_sweep_tried_without_a_gpu(small: None) -> None:
    before, seen, told = torch.backends.cudnn.allow_tf32, [], []
    rows = sweep(
        TorchCpu(),
        lambda share, doing: told.append((share, doing)),
        parts=["norms"],
        after=lambda part, rows: seen.append((part, len(rows))),
    )
    assert [(row["kind"], row["op"], row["params"]) for row in rows] == [("op", *case) for case in SMALL]
    failed, *rest = sorted(rows, key=lambda row: row["op"] != "softmax")
    assert failed["error"].startswith("KeyError")
    assert all((row["kernels"], row["busy_s"], row["list"]) == (0, 0, []) for row in rest)
    assert seen == [("norms", 2), ("norms", 4), ("norms", 6), ("norms", 7)]
    shares = [share for share, _ in told]
    assert shares == sorted(shares) and shares[-1] == 1.0
    assert told[0] == (0.0, "relu 1 of 7")
    assert torch.backends.cudnn.allow_tf32 == before


def test_a_limit_takes_the_first_cases_of_each_op(small: None) -> None:
    rows = sweep(TorchCpu(), parts=["norms"], limit=1)
    assert [row["params"].get("numel") for row in rows if row["op"] == "relu"] == [1000]
    functions = [case.params["function"] for case in cases(PARTS["generated"], SweepInputs("meta"), 1) if case.op == "generated"]
    assert len(functions) == len(set(functions)) == 10


def test_a_sweep_is_stopped_between_cases(small: None) -> None:
    seen: list[int] = []
    with pytest.raises(Cancelled):
        sweep(TorchCpu(), stop=lambda: len(seen) == 2, parts=["norms"], after=lambda part, rows: seen.append(len(rows)))
    assert seen == [2, 4]


def test_a_sweep_ends_when_time_is_up(small: None, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(0, 1000, 10))
    monkeypatch.setattr(time, "monotonic", lambda: float(next(clock)))
    assert len(sweep(TorchCpu(), parts=["norms"], seconds=25)) == 1  # begun at 0; asked before a session at 10, before cases at 20 and 30
    assert sweep(TorchCpu(), parts=["norms"], seconds=0) == []


def test_a_profiler_that_fails_leaves_rows_with_errors(small: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("the GPU is lost")

    monkeypatch.setattr(sweep_cuda, "profile", broken)
    assert {row["error"] for row in sweep(TorchCpu(), parts=["norms"])} == {"RuntimeError: the GPU is lost"}


def test_parts_are_chosen_by_name() -> None:
    names = "ops more norms generated recurrent narrow experts large kinds defaults writes groups corpus seldom training calls"
    assert tuple(PARTS) == tuple(names.split())
    assert named("norms, ops") == ("norms", "ops")
    with pytest.raises(BadValue, match="no part 'norm' of the sweep; choose from ops, more, norms, generated, recurrent, "):
        named("norm")


def test_the_program_writes_evidence(small: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["--out", str(tmp_path / "h200_sxm" / "all.json"), "--part", "norms", "--hardware", "h200_sxm"])
    found = read(tmp_path / "h200_sxm" / "all.json")
    assert (found.machine["hardware"], len(found.rows)) == ("h200_sxm", 7)
    assert found.method.startswith("GPU kernel, memset and memcpy durations from torch.profiler (CUDA activity only), 3 warm-up and 8")
    assert "norms 7 rows, 1 errors" in capsys.readouterr().out
    main(["--out", str(tmp_path / "folder"), "--part", "norms", "--limit", "1"])
    assert len(read(tmp_path / "folder" / "norms.json").rows) == 6
    with pytest.raises(SystemExit):
        main(["--out", str(tmp_path), "--part", "norm"])


def test_an_op_is_made_by_one_subject_only() -> None:
    from ironlaw.measure.suites.cuda.calls.table import CALLS, SUBJECTS

    assert sum(len(subject.CALLS) for subject in SUBJECTS) == len(CALLS)
