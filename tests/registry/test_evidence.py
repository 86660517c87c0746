"""Evidence files: all read, all of known kinds, and the models in them are the registry's own."""

import json
import re

import pytest

import ironlaw as il
from ironlaw.backends.rows import Row
from ironlaw.engine.device.types import FORMATS
from ironlaw.errors import BadRegistry
from ironlaw.registry.evidence import FORMAT, HERE, Evidence, evidence, files, measured, read

FILES = [path for slug in measured() for path in files(slug)]
IDS = [f"{path.parent.name}/{path.stem}" for path in FILES]
# FORMAT.md: what a row of each kind must have
NEEDED = {
    "op": {"op", "params"},
    "launch": {"op", "wall_s"},
    "function": {"name", "params", "mode"},
    "model": {"params", "mode"},
    "change": {"workload", "params", "mode", "piped_s"},
    "traffic": {"op", "params", "mode", "read_bytes", "written_bytes"},
    "memory": {"workload", "params", "allocated_peak_bytes", "reserved_bytes", "context_bytes", "static_bytes", "kept_bytes"},
    "scratch": {"op", "params", "scratch_bytes", "result_bytes", "input_bytes"},
    "flop_counter": {"tool", "model"},
    "case": {"name", "label", "params", "wall_s"},
}
TIMES = ("busy_s", "wall_s", "graph_s", "event_s", "piped_s", "compile_s", "seconds")


def test_what_was_measured():
    assert measured() == ("h200_sxm", "neoverse_n1_2core")
    assert set(measured()) <= set(il.machines())
    assert evidence("t4") == ()
    assert {file.name for file in evidence("h200_sxm")} >= {"h200_sxm/machine", "h200_sxm/models", "h200_sxm/micro", "h200_sxm/traffic"}


@pytest.mark.parametrize("path", FILES, ids=IDS)
def test_every_file_reads(path):
    file = read(path)
    assert file.name == f"{path.parent.name}/{path.stem}"
    assert file.machine["hardware"] == path.parent.name
    assert file.date.startswith("20") and len(file.method) > 40 and file.software["python"]
    library = ", PyTorch 2." if "torch" in file.software else ""  # a job of processors alone needs none
    assert file.source.startswith(f"evidence {file.name}, {file.date}{library}")


@pytest.mark.parametrize("path", FILES, ids=IDS)
def test_rows_are_of_known_kinds_and_have_what_the_format_asks(path):
    raw = json.loads(path.read_text())["rows"]
    for row, fields in zip(read(path).rows, raw, strict=True):
        assert row.kind in NEEDED
        assert set(fields) >= NEEDED[row.kind], row
        for key in TIMES:
            if fields.get(key) is not None and row.kind != "flop_counter":
                assert 0 < row.value(key) < 1000 or row.kernels == row.value(key) == 0, (key, row)
        if row.kernels is not None:
            assert row.kernels == int(row.kernels) >= 0
        if row.kind in ("op", "function", "model", "traffic"):
            assert row.params["dtype"] in FORMATS
        if row.mode:
            own = (
                ("copy", "library", "step_by_step", "naive", "triton", "plain", "two_four", "int8", "int8_two_four", "fp8")
                if row.kind in ("function", "traffic")
                else ()
            )
            assert row.mode in ("eager", "compiled", "graphs", "eager_graphs", "training", *own)
        assert not (row.workload and row.model)
        if row.kind == "model":
            assert row.workload or row.model


def test_parts_add_up_to_the_whole():
    """The kernels of an op row sum to its busy time (medians of each, so within a few percent). Rows of single calls list the longest."""
    for row in (r for file in evidence("h200_sxm") for r in file.rows if r.kind == "op" and r.kernel_times):
        if row.op in ("decompose", "called") or row.op.startswith("aten::"):
            assert 0 < sum(kernel.count for kernel in row.kernel_times) <= row.kernels
            assert 0.1 * row.busy_s <= sum(kernel.seconds for kernel in row.kernel_times) <= 1.25 * row.busy_s
            continue
        assert sum(kernel.seconds for kernel in row.kernel_times) == pytest.approx(row.busy_s, rel=0.25)
        assert sum(kernel.count for kernel in row.kernel_times) == row.kernels


MODELS = [(slug, row) for slug in measured() for file in evidence(slug) for row in file.rows if row.kind == "model" and row.workload]
# GPT-2 with attention written out in matrix products is not in the registry
BUILT = [(slug, row) for slug, row in MODELS if "attention" not in row.params]


def test_there_are_models():
    assert len(BUILT) >= 70
    assert len(MODELS) - len(BUILT) <= 2
    assert {row.workload for _, row in MODELS} <= set(il.workloads())


@pytest.mark.parametrize(("slug", "row"), BUILT, ids=[f"{slug}-{row.workload}-{row.mode}-{i}" for i, (slug, row) in enumerate(BUILT)])
def test_every_model_row_is_the_registrys_model(slug, row):
    graph = il.workload(row.workload, **row.params)
    assert graph.dtype == row.params["dtype"]
    if row.parameters is not None:
        assert graph.params == row.parameters
    if "flops" in row.extra:
        assert graph.flops == row.extra["flops"]
    if "hand_count" in row.extra:
        assert graph.flops == row.extra["hand_count"]["flops"]


# ---- files that are not as they should be

GOOD = {
    "format": FORMAT,
    "machine": {"hardware": "chip"},
    "software": {"python": "3"},
    "date": "2026-11",
    "method": "m",
    "rows": [{"kind": "op"}],
}


def write(tmp_path, text):
    path = tmp_path / "chip" / "ops.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text if isinstance(text, str) else json.dumps(text))
    return path


def test_a_small_file_reads(tmp_path):
    file = read(write(tmp_path, GOOD))
    assert file == Evidence("chip/ops", {"hardware": "chip"}, {"python": "3"}, "2026-11", "m", (Row(kind="op"),))
    assert file.source == "evidence chip/ops, 2026-11"
    assert read(write(tmp_path, GOOD | {"software": {"torch": "2.11"}})).source == "evidence chip/ops, 2026-11, PyTorch 2.11"


@pytest.mark.parametrize("path", FILES, ids=IDS)
def test_a_row_read_and_written_again_has_lost_nothing(path):
    for fields in json.loads(path.read_text())["rows"]:
        written = Row.from_json(fields).to_json()
        for kernel in fields.get("list", ()):
            kernel.setdefault("count", 1.0)
            kernel.setdefault("seconds", 0.0)
        assert written == {key: value for key, value in fields.items() if value not in (None, "", [], {})}


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (3, "not an object with a kind"), ({"op": "add"}, "not an object with a kind"),
        ({"kind": "op", "busy_s": "fast"}, "busy_s is 'fast', not a finite number"),
        ({"kind": "op", "busy_s": -1.0}, "busy_s is -1.0, not a finite number"),
        ({"kind": "op", "busy_s": True}, "busy_s is True, not a finite number"),
        ({"kind": "op", "op": 7}, "op is 7, not text"), ({"kind": "op", "params": [1]}, "params is"),
        ({"kind": "op", "list": [{"seconds": 1.0}]}, "list must hold objects with name"),
    ],
)  # fmt: skip
def test_a_row_that_is_not_as_it_should_be_is_named(tmp_path, row, words):
    with pytest.raises(BadRegistry, match=rf"evidence chip/ops, row 2.*{re.escape(words)}.*FORMAT\.md"):
        read(write(tmp_path, GOOD | {"rows": [{"kind": "op"}, row]}))


def test_another_format_or_version(tmp_path):
    for told in ("ironlaw-evidence/2", "csv", None):
        with pytest.raises(
            BadRegistry, match=rf"evidence chip/ops has format {told!r}, this version reads ironlaw-evidence/1; see evidence/FORMAT\.md"
        ):
            read(write(tmp_path, GOOD | {"format": told}))
    assert (HERE / "FORMAT.md").exists()


@pytest.mark.parametrize("key", ["machine", "software", "date", "method", "rows"])
def test_a_missing_key(tmp_path, key):
    for table in ({k: v for k, v in GOOD.items() if k != key}, GOOD | {key: type(GOOD[key])()}):
        with pytest.raises(BadRegistry, match=rf"evidence chip/ops has no {key}; see evidence/FORMAT\.md"):
            read(write(tmp_path, table))


@pytest.mark.parametrize("text", ["", "{", json.dumps(GOOD)[:-5], "format: yaml"])
def test_damaged_json(tmp_path, text):
    with pytest.raises(BadRegistry, match=r"evidence chip/ops is damaged \(.*line 1.*\); measure again or restore the file"):
        read(write(tmp_path, text))


@pytest.mark.parametrize("text", [b"[]", b"3", b"\xff\xfe{}"])
def test_json_of_another_shape(tmp_path, text):
    path = write(tmp_path, "")
    path.write_bytes(text)
    with pytest.raises(BadRegistry, match="evidence chip/ops"):
        read(path)
