"""Every machine of the registry, and what a broken file is told."""

import re

import pytest

import ironlaw as il
from ironlaw.backends import names
from ironlaw.engine.device.types import FORMATS
from ironlaw.errors import BadRegistry, UnknownName
from ironlaw.registry import loader, machines
from ironlaw.registry.evidence import evidence
from ironlaw.registry.loader import folder, normal, read
from ironlaw.registry.machine_files import CONTEXTS, KINDS, WITHOUT_BACKEND, load
from ironlaw.registry.machine_names import aliases
from ironlaw.registry.machines import hardware
from ironlaw.registry.workloads import workload

KEPT = {
    "h100_sxm", "h100_pcie", "h200_sxm", "a100_80gb_sxm", "a100_40gb_pcie", "b200", "l4", "t4",
    "v100", "mi300x", "tpu_v5e", "orin_nx_16gb", "a17_npu", "laptop_cpu", "pi5", "cortex_m7",
}  # fmt: skip
ALL = il.machines()


# ---- as they are


def test_the_slugs_to_keep_are_there():
    assert set(ALL) >= KEPT


@pytest.mark.parametrize("slug", ALL)
def test_every_figure_is_sourced(slug):
    machine = hardware(slug)
    assert {"memory", "reserved", "bandwidth", "power", "launch"} <= set(machine.figures)
    assert {f"peak.{fmt}" for fmt in machine.peaks} <= set(machine.figures)
    for key, figure in machine.figures.items():
        assert figure.source.strip() and re.match(r"\d{4}", figure.date), key
        assert figure.value > 0 and figure.unit, key
        assert figure.estimate == bool(figure.why), key
        if "." in key and key != "achieved.bandwidth":
            assert figure.format == key.split(".")[1] and figure.format in FORMATS, key
    for level in machine.levels:
        assert level.source and level.date and level.label, level.name
        assert level.estimate == bool(level.why), level.name


@pytest.mark.parametrize("slug", ALL)
def test_figures_agree_with_each_other(slug):
    machine = hardware(slug)
    assert machine.slug == slug and machine.name
    assert (machine.kind in KINDS, machine.backend in (*names(), *WITHOUT_BACKEND), machine.context in CONTEXTS) == (True, True, True)
    for fmt in machine.peaks:
        assert 0 < machine.ridge(fmt) < 1e5, fmt
    for fmt, rate in machine.sparse.items():
        assert machine.peak(fmt) <= rate <= 2.05 * machine.peak(fmt), fmt  # makers round
    for fmt, rate in machine.vector.items():
        assert rate <= machine.peaks.get(fmt, rate) * 1.01, fmt
    widths = sorted(machine.peaks, key=lambda fmt: -FORMATS[fmt])
    floats = [fmt for fmt in widths if fmt in ("fp64", "tf32", "fp16", "fp8")]
    assert [machine.peaks[f] for f in floats] == sorted(machine.peaks[f] for f in floats)  # narrower is no slower
    assert 1e-9 < machine.launch < 1e-2
    assert machine.power < 2000 and machine.capacity < 1e13


@pytest.mark.parametrize("slug", ALL)
def test_levels_go_from_fastest_to_main_memory(slug):
    machine = hardware(slug)
    speeds = [level.bandwidth for level in machine.levels]
    assert speeds == sorted(speeds, reverse=True)
    if machine.levels:
        main = machine.levels[-1]
        assert main.name == "main"
        assert (main.size, main.bandwidth) == ((machine.flash or machine.capacity), machine.bandwidth)
        assert all(level.size < (machine.flash or machine.capacity) for level in machine.levels[:-1])
        assert len({level.name for level in machine.levels}) == len(machine.levels)


def test_aliases_resolve():
    for slug in ALL:
        for alias in (slug, *hardware(slug).aliases):
            assert hardware(alias).slug == slug
            assert hardware(alias.upper().replace(" ", "-")).slug == slug
    assert aliases()["h100"] == "h100_sxm"
    assert set(aliases().values()) == set(ALL)
    assert all(normal(name) == name for name in aliases())


@pytest.mark.parametrize("typed", ["h100_sxm", "H100-SXM", "h100 sxm", "H100", "hopper", " h100 sxm5 "])
def test_spelling(typed):
    assert hardware(typed).slug == "h100_sxm"


@pytest.mark.parametrize("slug", ALL)
def test_capacities_are_what_makers_mean_less_what_the_system_keeps(slug):
    machine = hardware(slug)
    assert machine.capacity % 2**10 == 0  # sold as so many GB or KB, built of powers of two
    assert machine.usable == machine.capacity - machine.reserved
    assert 0.5 <= machine.usable / machine.capacity < 1
    assert machine.figures["reserved"].source and machine.figures["reserved"].why


# nvidia-smi's totals in MiB (modal-labs/modal-client pull request 2797), and what PyTorch saw on the project's own H200
REPORTED = {
    "h100_sxm": 81559, "a100_80gb_sxm": 81920, "a100_40gb_pcie": 40960, "a10": 23028, "l40s": 46068, "l4": 23034, "t4": 15360,
    "h200_sxm": 150109880320 / 2**20,
}  # fmt: skip


@pytest.mark.parametrize(("slug", "mebibytes"), REPORTED.items())
def test_what_a_driver_reports_lies_between_usable_and_sold(slug, mebibytes):
    machine, reported = hardware(slug), mebibytes * 2**20
    assert machine.usable < reported <= machine.capacity
    assert (reported - machine.usable) / reported < 0.05  # a CUDA context and the driver's own buffers


def test_what_the_evidence_saw_of_a_machine_fits_its_capacity():
    for slug in ("h200_sxm", "neoverse_n1_2core"):
        reported = max(part.machine.get("memory_bytes", 0) for part in evidence(slug))
        assert hardware(slug).usable < reported < hardware(slug).capacity


def test_llama_8b_on_the_machines_that_are_just_too_small():
    """Weights alone, against what is left of memories that are sold as large enough."""
    assert workload("llama3_8b", dtype="fp16").weight_bytes < hardware("t4").capacity  # 16.06 GB of 17.18
    assert workload("llama3_8b", dtype="fp16").weight_bytes > hardware("t4").usable  # error correction and the driver: 15.46
    assert workload("llama3_8b", dtype="fp16").weight_bytes > hardware("orin_nx_16gb").usable
    assert workload("llama3_8b", dtype="int8").weight_bytes > hardware("pi5").usable
    assert workload("llama3_8b", dtype="int8").weight_bytes < 0.6 * hardware("t4").usable


def test_integer_rates_are_operations():
    h100 = hardware("h100_sxm")
    assert (h100.figures["peak.int8"].unit, h100.figures["peak.fp8"].unit) == ("OP/s", "FLOP/s")


def test_figures_of_the_h100():
    h100 = hardware("h100_sxm")
    assert (h100.peak("fp16"), h100.peak("fp16", sparse=True), h100.bandwidth, h100.capacity) == (989e12, 1979e12, 3.35e12, 80 * 2**30)
    assert (h100.power, h100.launch, h100.units) == (
        700.0,
        1e-5,
        {"sms": 132.0, "lanes": 128.0, "clock": 1.98e9, "tensor_clock": 1.83e9, "shared_per_block": 227 * 1024},
    )
    assert h100.level("l2").size == 50 * 2**20
    assert (h100.calibration, hardware("h200_sxm").calibration is None) == (None, False)


def test_an_unknown_machine_names_the_nearest_and_where_to_add_one():
    with pytest.raises(UnknownName, match=r"no hardware 'h101_sxm'; did you mean .*h100_sxm.*/hardware/h101_sxm\.toml"):
        hardware("h101_sxm")
    with pytest.raises(UnknownName, match=r"to add one: \S+/hardware/my_chip\.toml with its figures and their sources"):
        hardware("My-Chip")


# ---- broken files: each names the file and what to do


GOOD = (folder("hardware") / "h100_sxm.toml").read_text()


def write(tmp_path, text, name="chip.toml"):
    path = tmp_path / name
    path.write_text(text)
    return path


def without(table: str) -> str:
    """The file less one table."""
    head, _, rest = GOOD.partition(f"[{table}]\n")
    return head + rest[rest.index("\n\n[") + 2 :]


def changed(table: str, old: str, new: str) -> str:
    """The file with one line of one table changed."""
    head, mark, rest = GOOD.partition(f"[{table}]\n")
    assert mark and old in rest
    return head + mark + rest.replace(old, new, 1)


def achieved(name: str, value: str) -> str:
    """The file with a rate that was measured."""
    return GOOD + f'\n[achieved.{name}]\nvalue = "{value}"\nsource = "a test"\ndate = "2026-11-16"\n'


def test_a_rate_that_was_measured_stands_beside_the_datasheet_s(tmp_path):
    machine = load(write(tmp_path, achieved("bandwidth", "3100 GB/s")))
    assert machine.figures["achieved.bandwidth"].value == 3.1e12 and machine.bandwidth == hardware("h100").bandwidth


def test_a_copy_of_a_good_file_loads(tmp_path):
    machine = load(write(tmp_path, GOOD))
    assert (machine.slug, machine.name, machine.peaks) == ("chip", hardware("h100").name, hardware("h100").peaks)
    unnamed = load(write(tmp_path, GOOD.replace('name = "NVIDIA H100 SXM5 80 GB"', "")))
    assert unnamed.name == "chip"


SOURCE = re.search(r'^source = ".*"$', GOOD, re.MULTILINE)[0]

BROKEN = {
    "reached more than there is": (achieved("bandwidth", "3400 GB/s"), r"\[achieved\.bandwidth\] is above \[bandwidth\]; check both"),
    "reached in no format": (achieved("fp12", "1 TFLOP/s"), r"\[achieved\.fp12\]: the file has no rate of that name; choose bandwidth or"),
    "reached in no unit": (achieved("fp16", "0.7"), r"\[achieved\.fp16\]: '0.7' has no unit"),
    "reached alone": ("achieved = 0.9\n" + GOOD, r"achieved is 0\.9; write tables, \[achieved\.bandwidth\] and"),
    "no memory": (without("memory"), r"hardware chip has no \[memory\]; add it with value, source and date to chip\.toml"),
    "no bandwidth": (without("bandwidth"), r"no \[bandwidth\]; add it .* to chip\.toml"),
    "no power": (without("power"), r"no \[power\]; add it .* to chip\.toml"),
    "no launch": (without("launch"), r"no \[launch\]; add it .* to chip\.toml"),
    "no source": (changed("memory", SOURCE, ""), r"chip\.toml \[memory\] has no source; add `source = …` there"),
    "no source of a peak": (changed("peak.fp16", SOURCE, ""), r"chip\.toml \[peak\.fp16\] has no source; add"),
    "no date": (changed("power", 'date = "2023-07"', ""), r"chip\.toml \[power\] has no date; add"),
    "bad unit": (changed("memory", "80 GiB", "80 Gb"), r"chip\.toml \[memory\]: unknown unit 'Gb'.*units are"),
    "other unit": (changed("bandwidth", "3350 GB/s", "3350 GB"), r"chip\.toml \[bandwidth\]: '3350 GB' is in B, but B/s is expected"),
    "NaN": (changed("power", '"700 W"', "nan"), r"chip\.toml \[power\]: nan has no unit; write it as text"),
    "NaN as text": (changed("power", "700 W", "nan W"), r"chip\.toml \[power\]: cannot read 'nan W'.*write a number and a unit"),
    "infinite": (changed("power", '"700 W"', "inf"), r"chip\.toml \[power\]: inf has no unit"),
    "negative": (changed("memory", "80 GiB", "-80 GiB"), r"chip\.toml \[memory\]: '-80 GiB' must be above 0"),
    "negative sparse": (changed("sparse.fp8", "3958", "-3958"), r"chip\.toml \[sparse\.fp8\]: .*above 0"),
    "negative vector": (changed("vector.fp64", "33.5", "-33.5"), r"chip\.toml \[vector\.fp64\]: .*above 0"),
    "all reserved": (changed("reserved", "1.4 GiB", "80 GiB"), r"chip\.toml \[reserved\] is '80 GiB', which leaves nothing of \[memory\]"),
    "zero": (changed("launch", "10 us", "0 us"), r"chip\.toml \[launch\]: '0 us' must be above 0"),
    "no unit": (changed("memory", '"80 GiB"', "80"), r"chip\.toml \[memory\]: 80 has no unit; write it as text with its unit"),
    "unknown format": (GOOD.replace("[peak.fp8]", "[peak.fp9]"), r"chip\.toml \[peak\.fp9\]: unknown number format 'fp9'; known: fp64"),
    "estimate without why": (
        re.sub(r'(\[launch\]\n.*\n.*\n)why = ".*"\n', r"\1", GOOD),
        r"\[launch\] is an estimate without a reason; add `why",
    ),
    "no table": (
        GOOD.replace("[power]", "[other]").replace("released", "power = 700\nreleased"),
        r"chip\.toml \[power\] is 700; write a table",
    ),
    "no peak": (
        re.sub(r"\[peak\.", "[vector.x", GOOD).replace("[vector.x", "[other."),
        r"hardware chip has no peak; add \[peak\.fp16\].*chip\.toml",
    ),
    "kind": (GOOD.replace('kind = "gpu"', 'kind = "toaster"'), r"chip\.toml: kind is 'toaster'; choose one of gpu, cpu"),
    "no kind": (GOOD.replace('kind = "gpu"\n', ""), r"chip\.toml: kind is None; choose one of gpu"),
    "backend": (GOOD.replace('backend = "cuda"', 'backend = "opencl"'), r"chip\.toml: backend is 'opencl'; choose one of cpu, cuda, mps"),
    "context": (GOOD.replace('context = "cloud"', 'context = "sea"'), r"chip\.toml: context is 'sea'; choose one of cloud, edge"),
    "level without source": (
        re.sub(r'(name = "main"\n.*\n.*\n.*\n)source = ".*"\n', r"\1", GOOD),
        r"chip\.toml \[\[level\]\] main has no source; add",
    ),
    "level without size": (GOOD.replace('size = "80 GiB"', ""), r"chip\.toml \[\[level\]\] main has no value"),
    "level without bandwidth": (GOOD.replace('bandwidth = "7 TB/s"', ""), r"chip\.toml \[\[level\]\] l2 bandwidth: None has no unit"),
    "level's bad bandwidth": (
        GOOD.replace("7 TB/s", "7 TB"),
        r"chip\.toml \[\[level\]\] l2 bandwidth: '7 TB' is in B, but B/s is expected",
    ),
    "clock": (GOOD.replace("1980 MHz", "1980 MW"), r"chip\.toml \[units\] clock: '1980 MW' is in W, but Hz is expected"),
    "link without source": (
        re.sub(r'(name = "NVLink 4"\n.*\n)source = ".*"\n', r"\1", GOOD),
        r"chip\.toml \[\[link\]\] NVLink 4 has no source; add",
    ),
    "link's bad bandwidth": (
        GOOD.replace('per_direction = "450 GB/s"', 'per_direction = "450 GB"'),
        r"chip\.toml \[\[link\]\] NVLink 4: '450 GB' is in B, but B/s is expected",
    ),
    "link without name": (GOOD.replace('name = "NVLink 4"\n', ""), r"chip\.toml: a \[\[link\]\] has no name; add"),
    "process without source": (
        re.sub(r'(process = .*\n)source = ".*"\n', r"\1", GOOD),
        r"chip\.toml \[chip\] has no source; add `source = …` there",
    ),
    "syntax": (GOOD.replace("[memory]", "[memory"), r"chip\.toml: .*line \d+.*; fix the TOML there"),
}


SMALL = (folder("hardware") / "cortex_m7.toml").read_text()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (re.sub("activations = .*", "", SMALL), r'chip\.toml has \[flash\] alone; add activations = "sram"'),
        (SMALL.replace("[flash]", "[other]"), r"chip\.toml has activations alone; add \[flash\]"),
        (SMALL.replace('activations = "sram"', 'activations = "ram"'), "activations is 'ram'; name one of its levels: l1, sram, main"),
    ],
)
def test_weights_in_flash_ask_for_a_place_for_activations(text, told, tmp_path):
    assert load(write(tmp_path, SMALL)).activations == "sram"
    with pytest.raises(BadRegistry, match=told):
        load(write(tmp_path, text))


@pytest.mark.parametrize("why", BROKEN)
def test_a_broken_file_is_told_what_to_do(why, tmp_path):
    text, told = BROKEN[why]
    assert text != GOOD
    with pytest.raises(BadRegistry, match=told):
        load(write(tmp_path, text))


HOLES = {
    "no unit in the text": changed("memory", "80 GiB", "80"),
    "level without name": GOOD.replace('name = "l2"\n', ""),
    "NaN among the units": GOOD.replace("sms = 132", "sms = nan"),
    "list among the units": GOOD.replace("sms = 132", "sms = [132]"),
    "one alias instead of a list": re.sub(r"^aliases = .*$", 'aliases = "h100"', GOOD, flags=re.MULTILINE),
    "not UTF-8": GOOD.replace("NVIDIA H100 SXM5", "NVIDIA \xe9"),
}


@pytest.mark.parametrize("why", HOLES)
def test_broken_files_of_other_kinds(why, tmp_path):
    path = tmp_path / "chip.toml"
    path.write_text(HOLES[why], encoding="latin-1" if why == "not UTF-8" else "utf-8")
    with pytest.raises(BadRegistry, match=r"chip\.toml"):
        load(path)


@pytest.fixture
def own_folder(tmp_path, monkeypatch):
    """A registry of hardware that starts empty."""
    (tmp_path / "hardware").mkdir()
    cached = (loader.slugs, aliases, machines._registered)

    def clear():
        for made in cached:
            made.cache_clear()

    monkeypatch.setattr(loader, "HERE", tmp_path)
    clear()
    yield tmp_path / "hardware"
    monkeypatch.undo()
    clear()


def test_a_new_file_is_a_new_machine(own_folder):
    write(own_folder, GOOD, "my_chip.toml")
    assert machines.machines() == ("my_chip",)
    assert hardware("My Chip").slug == hardware("hopper").slug == "my_chip"
    assert hardware("my_chip").calibration is None


@pytest.mark.parametrize(
    ("line", "alias"),
    [
        ('aliases = ["h100", "h100 sxm5", "h100 80gb", "hopper"]', "h100"),
        ('aliases = ["Hopper"]', "Hopper"),
        ('aliases = ["a-chip"]', "a-chip"),
    ],
)
def test_two_machines_cannot_share_an_alias(own_folder, line, alias):
    write(own_folder, GOOD, "a_chip.toml")
    write(own_folder, re.sub(r"^aliases = .*$", line, GOOD, flags=re.MULTILINE), "b_chip.toml")
    with pytest.raises(BadRegistry, match=rf"alias '{alias}' of hardware b_chip belongs to a_chip already; give it another"):
        hardware("something else")
    assert hardware("b_chip").slug == "b_chip"  # by its slug it can still be had


def test_every_file_reads_on_its_own():
    for slug in ALL:
        assert read(folder("hardware") / f"{slug}.toml")["name"]


def test_a_machine_may_name_a_backend_from_outside(tmp_path, monkeypatch):
    from ironlaw import backends
    from ironlaw.backends.mps import Mps

    class Elsewhere(Mps):
        name = "elsewhere"

    path = tmp_path / "h200_like.toml"
    path.write_text((folder("hardware") / "h200_sxm.toml").read_text().replace('backend = "cuda"', 'backend = "elsewhere"'))
    with pytest.raises(BadRegistry, match="backend is 'elsewhere'; choose one of cpu, cuda, mps"):
        load(path)
    monkeypatch.setattr(backends, "_registered", {})
    backends.register(Elsewhere())
    machine = load(path)
    assert (machine.backend, machine.dispatch, machine.caveats) == ("elsewhere", "queued", ())
