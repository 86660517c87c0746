"""registry/host: every file sourced, the virtual machine's from the H200's own launch rows, and what is wrong in a file is named."""

from statistics import median

import pytest

import ironlaw as il
from ironlaw.backends import require
from ironlaw.calibration import local_machine
from ironlaw.compare import graph_of
from ironlaw.engine.device.host import Host
from ironlaw.errors import BadRegistry, UnknownName
from ironlaw.registry.evidence import evidence
from ironlaw.registry.hosts import load
from ironlaw.registry.loader import folder, read


@pytest.mark.parametrize("slug", il.hosts())
def test_every_host_says_where_it_comes_from(slug):
    host = il.host(slug)
    assert (host.slug, bool(host.name), bool(host.source), bool(host.date), bool(host.method)) == (slug, True, True, True, True)
    assert bool(host.why) == host.estimate
    assert 1e-7 < host.default < 1e-4
    for name in read(folder("host") / f"{slug}.toml")["aliases"]:
        assert il.host(name.upper().replace("_", "-")) == host


def test_the_virtual_machines_launches_are_those_of_the_evidence():
    rows = [row for file in evidence("h200_sxm") for row in file.rows if row.kind == "launch"]
    measured, stored = require("cuda").host(rows), il.host("vm")
    assert (stored.launches, stored.entry, stored.graph_start) == (measured.launches, measured.entry, measured.graph_start)
    assert (stored.launches["conv2d"], stored.launches["linear"]) == (55.7271e-6, 39.14e-6) and not stored.estimate


def test_the_servers_factor_is_that_of_the_published_run():
    """1.014 ms on a DGX H100; the last product, at an H100's bandwidth, hides no launch."""
    vm, server = il.host("xeon_vm"), il.host("bare")
    launches, tail_on_h200 = 1.120e-3, 0.126e-3  # of the same model's 64 kernels, as the file says
    tail = tail_on_h200 * il.hardware("h200_sxm").bandwidth / il.hardware("h100_sxm").bandwidth
    assert server.default / vm.default == pytest.approx((1.014e-3 - tail) / launches, abs=0.005)
    assert {kind: seconds / vm.launches[kind] for kind, seconds in server.launches.items()} == pytest.approx(
        dict.fromkeys(vm.launches, 0.74)
    )
    assert server.entry == 37.5e-6 and vm.entry == 0 and server.estimate


def test_an_unknown_host_names_the_nearest_and_where_to_add_one():
    with pytest.raises(UnknownName, match=r"no host 'xeon'; did you mean .*xeon_vm.*/host/xeon\.toml.*ironlaw measure --host"):
        il.host("xeon")


def test_here_asks_to_be_measured(ironlaw_home):
    with pytest.raises(UnknownName, match="run `ironlaw measure --host` first"):
        il.host("here")


def test_here_is_what_was_stored(ironlaw_home):
    stored = Host({"default": 3e-6, "add": 2e-6}, 1e-5, 4e-6, "this_machine", "mine", "measured", "2026-11-16", caveats=("busy",))
    path = local_machine.store_host(stored)
    assert il.host("here") == il.host("this") == stored and path.parent.parent == ironlaw_home
    path.write_text("{}")
    with pytest.raises(BadRegistry, match=r"this_machine\.json is damaged.*ironlaw measure --host"):
        il.host("here")


def test_a_measured_gpu_gives_its_host_too(ironlaw_home):
    local_machine.store_curves(il.hardware("h200_sxm").calibration)
    assert il.host("here").launches == il.host("vm").launches and il.host("here").slug == "this_machine"
    local_machine.store_curves(il.hardware("neoverse_n1_2core").calibration)  # a processor launches itself and no other
    with pytest.raises(UnknownName, match="not measured yet"):
        il.host("here")


GOOD = (folder("host") / "xeon_vm.toml").read_text()
SCALED = (folder("host") / "dgx_h100.toml").read_text()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (GOOD.replace("source =", "origin ="), r"h\.toml has no source; add"),
        (GOOD.replace("[launches]", "[other]"), r"give either \[launches\], or the host it is `like`"),
        (GOOD.replace("default =", "usual ="), "there is no default launch"),
        (GOOD.replace("\nadd = ", "\nadd = -"), "the launch of add is -.*; write seconds"),
        (GOOD.replace("\nadd = ", '\nadd = "quick" # '), "the launch of add is 'quick', not a valid number; write seconds"),
        (SCALED.replace('like = "xeon_vm"', 'like = "h"'), "like is 'h'; name another file of registry/host: dgx_h100, typical, xeon_vm"),
        (SCALED.replace("estimate = true", ""), "it is an estimate; add `estimate = true`"),
        (SCALED.replace("why =", "because ="), r"h\.toml is an estimate without a reason"),
        (SCALED.replace("factor = 0.74", "factor = 0"), "factor is 0"),
        (SCALED.replace("factor = 0.74", ""), "factor is None"),
    ],
)
def test_what_is_wrong_in_a_file_is_named(text, told, tmp_path):
    path = tmp_path / "h.toml"
    path.write_text(text)
    with pytest.raises(BadRegistry, match=told):
        load(path)


# ---- graphs of eager code, against what was replayed


def test_what_a_replay_adds_to_eager_kernels_is_between_its_gaps_and_its_start():
    """`graph_s`: a function's eager kernels replayed as one graph, between events on the device: only part of the start is in it."""
    machine, added, gaps = il.hardware("h200_sxm"), [], []
    for row in (row for file in evidence("h200_sxm") for row in file.rows):
        known = graph_of(row) if row.kind == "function" and row.mode == "eager" and row.graph_s and row.busy_s else None
        if known:
            p = il.predict(known[0], machine, il.Plan("eager_graphs"))
            assert p.kernels == row.kernels
            overhead = float(p.seconds - p.busy_s)
            assert overhead == pytest.approx(p.host.graph_start + machine.calibration.graph_gap * float(p.kernels))
            assert row.graph_s - row.busy_s < overhead + 15e-6
            added.append(row.graph_s - row.busy_s)
            gaps.append(overhead - p.host.graph_start)
    assert len(added) == 20
    assert median(gaps) < median(added) < il.host("vm").graph_start
