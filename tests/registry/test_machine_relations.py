"""A machine's figures against each other: what follows from units, clocks and widths must follow."""

import pytest

import ironlaw as il
from ironlaw.engine.device.types import FORMATS

ALL = [il.hardware(slug) for slug in il.machines() if slug != "this_machine"]
CUDA = [m for m in ALL if m.backend == "cuda"]
KIB = 1024
PASCAL = ("p100", "p4")  # before tensor cores, and with shared memory beside L1 rather than in it
NARROWER = (
    ("fp64", "fp32"), ("fp32", "tf32"), ("tf32", "fp16"), ("fp32", "bf16"), ("fp16", "fp8"), ("fp16", "int8"), ("int8", "int4"),
)  # fmt: skip


def near(value: float, *allowed: float, within: float = 0.03) -> bool:
    return any(abs(value / one - 1) <= within for one in allowed)


def each(machines):
    return pytest.mark.parametrize("machine", machines, ids=lambda machine: machine.slug)


@each(CUDA)
def test_rates_of_a_gpu_are_lanes_times_clock(machine):
    """A multiply-add in each of 64 or 128 lanes of a multiprocessor; tensor cores a power of two times that."""
    each_clock = machine.units["sms"] * machine.units["clock"]
    lanes = machine.vector["fp32"] / (2 * each_clock)
    assert near(lanes, machine.units["lanes"]), lanes
    assert machine.units["lanes"] in (64, 128)
    if machine.slug in PASCAL:
        return
    tensor = machine.peak("fp16") / (machine.units["sms"] * machine.units.get("tensor_clock", machine.units["clock"]))
    assert near(tensor, 512, 1024, 2048, 4096, 8192, within=0.05), tensor


@each(CUDA)
def test_a_gpu_s_own_memories_are_so_many_per_multiprocessor(machine):
    sms, block = machine.units["sms"], machine.units["shared_per_block"]
    assert machine.level("registers").size == sms * 256 * KIB
    shared = machine.level("shared").size / sms / KIB
    assert shared in ((88, 144) if machine.slug in PASCAL else (96, 128, 192, 256)), shared
    assert (
        block in {48 * KIB, 64 * KIB, 96 * KIB, 99 * KIB, 163 * KIB, 227 * KIB} and block < shared * KIB
    )  # the rest is L1, and CUDA's own KiB
    per_clock = sms * machine.units["clock"]
    assert near(machine.level("shared").bandwidth / per_clock, 64, 128, within=0.05)  # a bank of 4 bytes for each lane
    assert near(machine.level("registers").bandwidth / per_clock, 1536, within=0.2)


@pytest.mark.parametrize(
    ("slug", "block", "sm"),
    [("a100_80gb_sxm", 163, 192), ("l40s", 99, 128), ("v100", 96, 128), ("t4", 64, 96), ("h100_sxm", 227, 256), ("orin_nx_16gb", 163, 192)],
)
def test_what_one_block_can_use(slug, block, sm):
    """CUDA C++ Programming Guide, technical specifications per compute capability."""
    machine = il.hardware(slug)
    assert machine.units["shared_per_block"] == block * KIB
    assert machine.level("shared").size / machine.units["sms"] == sm * KIB


@each(ALL)
def test_narrower_formats_are_no_slower(machine):
    wide_to_narrow = [
        ("fp64", "fp32"),
        ("fp32", "tf32"),
        ("tf32", "fp16"),
        ("fp32", "bf16"),
        ("fp16", "fp8"),
        ("fp16", "int8"),
        ("int8", "int4"),
    ]
    for wide, narrow in wide_to_narrow:
        if wide in machine.peaks and narrow in machine.peaks:
            assert machine.peak(wide) <= 1.01 * machine.peak(narrow), (wide, narrow)
        if wide in machine.vector and narrow in machine.vector:
            assert machine.vector[wide] <= 1.01 * machine.vector[narrow], (wide, narrow)
    if {"fp16", "bf16"} <= set(machine.peaks) and machine.kind == "gpu" and machine.slug != "mi100":  # whose BF16 is half as fast
        assert machine.peak("fp16") == machine.peak("bf16")


@each([m for m in CUDA if m.slug not in PASCAL])
def test_tensor_cores_double_with_each_halving(machine):
    """INT8 and FP8 at twice FP16, TF32 at half; GeForce halves what accumulates in FP32. A module's DLAs are not the GPU's."""
    geforce = "GeForce" in machine.name
    for fmt, factor in (("tf32", 0.5), ("fp8", 2.0), ("int8", 4.0 if geforce else 2.0)):
        if fmt in machine.peaks:
            assert near(machine.peak(fmt) / machine.peak("fp16"), factor, within=0.04), fmt


@each(ALL)
def test_sparsity_doubles(machine):
    for fmt, rate in machine.sparse.items():
        assert near(rate / machine.peak(fmt), 2.0, within=0.03), fmt


@each([m for m in ALL if m.kind == "cpu"])
def test_a_processor_s_lanes_double_with_each_halving(machine):
    assert near(machine.peak("fp32") / machine.peak("fp64"), 2.0)
    each_clock = machine.peak("fp64") / (machine.units["cores"] * machine.units["clock"])
    assert near(each_clock, 8, 16, 32), each_clock  # two multiply-adds of 128, 256 or 512 bits, a multiply and an add each


@each(ALL)
def test_vector_units_are_no_faster_than_matrix_units(machine):
    for fmt in FORMATS:
        if fmt in machine.vector and fmt in machine.peaks:
            assert machine.vector[fmt] <= 1.01 * machine.peak(fmt), fmt


@each(ALL)
def test_a_memory_s_size_and_speed_are_told_once(machine):
    main = machine.levels[-1]
    assert (main.name, main.size, main.bandwidth) == ("main", machine.flash or machine.capacity, machine.bandwidth)
    for faster, slower in zip(machine.levels, machine.levels[1:], strict=False):
        assert faster.bandwidth > slower.bandwidth, (faster.name, slower.name)


@each([m for m in ALL if "cus" in m.units])
def test_compute_units_times_lanes_times_clock(machine):
    lanes = machine.vector["fp32"] / (2 * machine.units["cus"] * machine.units["clock"])
    assert near(lanes, machine.units["lanes"]), lanes


@each([m for m in ALL if m.links])
def test_links_are_told_one_direction_at_a_time(machine):
    """PCI Express by its generation; NVLink by its links of 25 GB/s (50 from the fifth generation) a direction."""
    for link in machine.links:
        assert link.source and link.date and link.estimate == bool(link.why), link.name
        if link.name.startswith("PCI Express"):
            generation, lanes = float(link.name.split()[2]), int(link.name.split("x")[-1])
            each_lane = {3: 0.985, 4: 1.969, 5: 3.938, 6: 7.56}[int(generation)] * 1e9
            assert near(link.per_direction, lanes * each_lane, within=0.01), link.name
        if link.name.startswith("NVLink") and machine.slug not in ("a40", "a6000", "rtx_3090"):  # whose bridges run at 14 GB/s a link
            assert link.per_direction % 25e9 == 0, link.name


def test_every_gpu_of_a_data_centre_says_how_it_is_linked_and_made():
    for machine in ALL:
        if machine.kind == "gpu" and machine.context == "cloud":
            assert machine.links and machine.process, machine.slug
