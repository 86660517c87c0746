"""An export of Nsight Systems, by hand in its tables, reads as the same run in torch.profiler's format does."""

import sqlite3
from pathlib import Path

import pytest

from ironlaw.errors import BadValue
from ironlaw.registry.machines import hardware
from ironlaw.report.kineto import SYNC, read
from ironlaw.report.trace_rates import read_rates

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
    assert "nsys profile --trace=cuda,nvtx --pytorch=autograd-shapes-nvtx" in str(error.value)


def test_a_damaged_file(tmp_path: Path) -> None:
    file = tmp_path / "report.sqlite"
    file.write_bytes(b"SQLite format 3\x00" + b"?" * 200)
    with pytest.raises(BadValue, match="can't be read as an export"):
        read(file)


KERNEL = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<{}>, std::array<char*, 3ul> >(int, T2, T3)"


@pytest.mark.parametrize(
    ("fmt", "element", "product"), [("bf16", "c10::BFloat16", "nvjet_tst_128x256"), ("fp32", "float", "ampere_sgemm_128x128_tn")]
)
def test_a_range_with_sizes_shows_rates_of_the_machine(place: Path, fmt: str, element: str, product: str) -> None:
    """`measure --trace`: a sum of two tensors of 2²⁸ elements in 2 ms, a product of 8,192³ in 30 ms."""
    wide = {"bf16": 2, "fp32": 4}[fmt]
    with sqlite3.connect(place) as database:
        database.executemany("INSERT INTO StringIds VALUES (?, ?)", [(10, KERNEL.format(element)), (11, product)])
        ranges = [("aten::add, op_id = 3, sizes = [[16384, 16384], [16384, 16384], []], input_op_ids = [(1, 0)]", 43, 10, 2_000_000)]
        ranges.append(("aten::mm, op_id = 4, sizes = [[8192, 8192], [8192, 8192]]", 44, 11, 30_000_000))
        for at, (text, correlation, name, long) in enumerate(ranges):
            begin = 100_000 + at * 50_000_000
            database.execute("INSERT INTO NVTX_EVENTS VALUES (?, ?, 7, ?, NULL)", (begin, begin + 20_000, text))
            database.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, 7, ?, 0)", (begin + 5_000, begin + 9_000, correlation))
            kernel = begin + 10_000, begin + 10_000 + long, correlation, name
            database.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, 1, 7, ?, ?)", kernel)
    rates = read_rates(read(place), hardware("b200"))
    assert rates.bandwidth is not None and rates.bandwidth.value == pytest.approx(3 * wide * 2**28 / 2e-3)
    assert rates.rates[fmt].value == pytest.approx(2 * 8192**3 / 30e-3) and rates.rates[fmt].kernels == 1
    assert {"fp32", "bf16"} - {fmt} - set(rates.rates)  # a product in one says nothing of the other


def test_without_sizes_it_says_how_to_record_them(place: Path) -> None:
    with pytest.raises(BadValue, match=r"how large its tensors were.*autograd-shapes-nvtx"):
        read_rates(read(place), hardware("b200"))
