"""An export of Nsight Systems, by hand in its tables, reads as the same run in torch.profiler's format does."""

import sqlite3
from pathlib import Path

import pytest

from ironlaw.errors import BadValue
from ironlaw.report.kineto import SYNC, read

STRINGS = ("cudaLaunchKernel_v7000", "cudaDeviceSynchronize_v3020", "void gemm<float>()", "aten::addmm, op_id = 2")
TABLES = (
    "CREATE TABLE StringIds (id INTEGER, value TEXT)",
    "CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, cuDevice INTEGER)",
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, deviceId INT, streamId INT, correlationId INT, demangledName INT)",
    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT, end INT, globalTid INT, correlationId INT, nameId INT)",
    "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INT, end INT, streamId INT, correlationId INT)",
    "CREATE TABLE NVTX_EVENTS (start INT, end INT, globalTid INT, text TEXT, textId INT)",
)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    file = tmp_path / "report.sqlite"
    with sqlite3.connect(file) as database:
        for table in TABLES:
            database.execute(table)
        database.executemany("INSERT INTO StringIds VALUES (?, ?)", enumerate(STRINGS))
        database.executemany("INSERT INTO TARGET_INFO_GPU VALUES (?, ?, ?)", [(0, "NVIDIA L4", 0), (1, "NVIDIA A100-SXM4-80GB", 1)])
        database.executemany(
            "INSERT INTO NVTX_EVENTS VALUES (?, ?, ?, ?, ?)",
            [
                (1_000, 21_000, 7, "aten::linear, op_id = 1", None),
                (3_000, 19_000, 7, None, 3),
                (0, 90_000, 7, "my own range", None),
                (5, None, 7, "mark", None),
            ],
        )
        database.executemany(
            "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, ?, ?, ?)", [(8_000, 12_000, 7, 41, 0), (30_000, 70_000, 7, 42, 1)]
        )
        database.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (14000, 64000, 1, 7, 41, 2)")
        database.execute("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (64000, 66000, 7, 99)")
    return file


def test_operators_kernels_and_waits(place: Path) -> None:
    trace = read(place)
    assert (trace.device, [op.name for op in trace.ops], trace.ops[1].parent) == (
        "NVIDIA A100-SXM4-80GB",
        ["aten::linear", "aten::addmm"],
        0,
    )
    kernel, copy = trace.kernels
    assert (kernel.name, trace.ops[kernel.op].name) == ("void gemm<float>()", "aten::addmm")
    assert (kernel.seconds, copy.name, copy.op) == (pytest.approx(50e-6), "Memcpy", -1)
    assert [(wait.what, wait.seconds) for wait in trace.waits] == [(SYNC, pytest.approx(40e-6))]


@pytest.mark.parametrize(("table", "said"), [("CUPTI_ACTIVITY_KIND_KERNEL", "no CUDA kernels"), ("NVTX_EVENTS", "which PyTorch operator")])
def test_what_is_missing_is_said_with_how_to_record_it(place: Path, table: str, said: str) -> None:
    with sqlite3.connect(place) as database:
        database.execute(f"DROP TABLE {table}")
    with pytest.raises(BadValue, match=said) as error:
        read(place)
    assert "nsys profile --trace=cuda,nvtx --pytorch=autograd-nvtx" in str(error.value)


def test_a_damaged_file(tmp_path: Path) -> None:
    file = tmp_path / "report.sqlite"
    file.write_bytes(b"SQLite format 3\x00" + b"?" * 200)
    with pytest.raises(BadValue, match="can't be read as an export"):
        read(file)
