"""Lab 10 at the level of what it shows and what the ledger holds."""

from dataclasses import replace

import pytest
from headless import Page, bare, figure
from measured import timing

from ironlaw import claims, hardware
from ironlaw.kit.lab_check import complete
from ironlaw.labs.lab_10_frontier import llama
from ironlaw.labs.lab_10_frontier.act1.setting import Setting as Grid
from ironlaw.labs.lab_10_frontier.act2 import case as cases
from ironlaw.labs.lab_10_frontier.act2.banners import LIMITS
from ironlaw.labs.lab_10_frontier.reader import NETS, ZEROS, Setting, layers, no_kernel
from ironlaw.measure.compression import load
from ironlaw.measure.experiments import compression
from ironlaw.measure.software_host import machine
from ironlaw.registry.compression_tables import BITS, SHARES, SPREADS, at_bits
from ironlaw.systems.limits import hit

SLUG = "lab_10_frontier"
SAID = {"act1": "kept", "act1_reflection": "double", "act2": "p50"}
DEVICES = ("h200_sxm", "orin_nx_16gb", "a17_npu", "cortex_m7")


def cards(view):
    return {card["label"]: str(card["value"]) for card in view["cards"]}


def marks(view, name):
    return {mark.get("id", ""): mark for mark in figure(view, name)["marks"]}


def test_keys_are_the_engine_s_and_move_with_their_premises(page, monkeypatch):
    question = page.lab.question
    assert question("act1").answer == pytest.approx(100 * 81 / 797) and question("act1").right.id == "guessing"
    assert question("act1_reflection").answer == pytest.approx(100 * 16 / 4096 / 8) and question("act1_reflection").right.id == "nothing"
    assert (question("act2").right.id, question("act2_reflection").right.id) == ("p80", "p56")

    def right(name, **names):
        for key, value in names.items():
            monkeypatch.setitem(claims.NAMESPACE, key, value)
        return Page(page.ledger, SLUG).lab.question(name).right.id

    assert right("act1", at_bits=lambda *a: replace(at_bits("mlp", 1, 8), hits=780)) == "kept"
    assert right("act1", at_bits=lambda *a: replace(at_bits("mlp", 1, 8), hits=400)) == "halved"
    assert right("act1_reflection", stored_bits=lambda *_: 9.0) == "eighth"
    assert right("act2", csr_breakeven=lambda value, column: 0.5) == "p50"
    assert right("act2_reflection", nm_storage=lambda *_: 0.75) == "p75"


def test_act_i_puts_the_prediction_on_the_same_axis(bench):
    start = bench.turn("act1")
    said, now = marks(start, "accuracy")["guess"], cards(start)["Right answers"]
    assert (said["x"], said["label"], said["distance"]) == (98.0, "you said 98%", "87.8 points too high") and now.startswith("10.2")
    view = bench.turn("act1", bits=4, spread=1, scale="channel")
    lines = {mark["name"]: mark["points"] for mark in figure(view, "divergence")["marks"] if mark["type"] == "line"}
    mine, theory = lines["fully connected"], lines["rounding noise alone"]
    assert mine == [[float(b), at_bits("mlp", 1, b).kl] for b in BITS]
    assert theory[0][1] / theory[-1][1] == pytest.approx(127**2)
    assert cards(view)["Flipped"] == str(at_bits("mlp", 1, 4).flips) and cards(view)["Each lost bit"] == "×4.47"
    assert view["formula"].count("<svg") == min(8, at_bits("mlp", 1, 4).flips) and "now taken for" in view["formula"]
    grid = [mark for name, mark in marks(view, "weights").items() if name.startswith("level-")]
    assert len(grid) == 15 and all(name.startswith("bin-") for name in marks(bench.turn("act1", bits=5, spread=1), "weights"))


def test_every_answer_is_a_square(bench):
    asked = figure(bench.turn("act1", bits=8, spread=100, scale="tensor"), "accuracy")
    squares = {mark["id"]: (mark["start"], mark["count"]) for mark in asked["marks"] if mark["type"] == "cells"}
    full = at_bits("mlp", 100, 32).hits
    assert squares == {
        "FP32-right": (0, full), "FP32-wrong": (full, 797 - full), "8 bits-right": (0, 81), "8 bits-wrong": (81, 716),
    }  # fmt: skip
    assert asked["title"] == "8 bits, one scale per tensor: 10.2% right"
    truth = {bits: marks(bench.turn("act1", bits=bits, spread=100, scale="tensor"), "accuracy")["truth"]["label"] for bits in (8, 4)}
    assert truth == {8: "it is 10.2%", 4: "as asked, it is 10.2%"}
    assert {mark["y"] for mark in figure(bench.turn("act1", bits=32), "accuracy")["marks"] if mark["type"] == "cells"} == {"FP32"}


def test_reader_sizes_are_the_nets_own_and_formats_pay_for_places():
    for net in NETS:
        own = load(net)
        assert sum(i * o for i, o in layers(net)) == own.weights and Setting(net).bytes == 4 * (own.weights + own.biases)
    full, eight = Setting(), Setting(bits=8)
    assert full.bytes == 203_304 and eight.bytes == own_bytes(1) + 2 * (256 + 128 + 10)
    pruned = {zeros: Setting(bits=8, share=90, zeros=zeros).bytes for zeros in ZEROS}
    assert pruned["dense"] == eight.bytes > pruned["csr32"] > pruned["bitmap"] > 0 and pruned["csr8"] < pruned["csr32"]
    assert Setting(bits=8, share=50, zeros="csr32").bytes > eight.bytes  # a column of four bytes beside each


def own_bytes(each):
    return each * (64 * 256 + 256 * 128 + 128 * 10) + 4 * (256 + 128 + 10)


def test_time_follows_the_kernel():
    gpu, tiny = hardware("h200_sxm"), hardware("cortex_m7")

    def seconds(device, **more):
        return float(Setting(**more).terms(device).sequential)

    assert seconds(gpu, bits=8) > 1.9 * seconds(gpu)  # twice the launches, to unpack
    assert seconds(gpu, bits=8, product="int8") <= seconds(gpu)
    assert seconds(tiny, bits=8) < seconds(tiny)  # flash is slow, and the launch is paid once
    assert seconds(tiny, bits=4, share=90, zeros="csr8", product="sparse") < seconds(tiny, bits=4, product="int8")
    assert set(no_kernel(Setting(bits=8, share=90, zeros="csr8"), gpu)) == {"int8"} and set(no_kernel(Setting(), gpu)) == {"int8", "sparse"}
    assert "no unit" in no_kernel(Setting(bits=8), replace(gpu, peaks={"fp32": 1e12}))["int8"]
    plain = llama.seconds("F16", 2048, gpu)
    assert llama.seconds("Q4_0", 2048, gpu) < plain < llama.seconds("Q4_0", 2048, gpu, "unpack")


START = {
    "data": "llama", "row": "Q4_0", "context": 2048, "kernel": "format", "most_ppl": 7.0, "limit_ms": 100.0, "net": "mlp", "bits": 8,
    "scale": "channel", "share": 0, "zeros": "dense", "product": "plain", "room": 64, "floor": 95.0, "cost": "bytes", "harm": "errors",
}  # fmt: skip


def test_limits_of_the_reader_on_a_microcontroller():
    def verdict(**change):
        tiny = {**START, "data": "digits", "product": "int8", "room": 256, "floor": 80, **change}
        return hit(LIMITS, cases.case_of(hardware("cortex_m7"), tiny)).name

    assert verdict(bits=2, net="eighth") == "floor" != verdict(bits=4, net="eighth")
    assert (verdict(bits=6, room=8), verdict(bits=6), verdict(bits=6, floor=98)) == ("oom", "good", "unsure")


def test_without_a_grid_nothing_changes(bench):
    full = bench.turn("act1", bits=32, spread=100)
    assert cards(full)["Flipped"] == "0" and "nothing is rounded" in full["formula"] and "unchanged" in full["note"]
    assert all(Grid("mlp", bits, spread=spread).answers.hits > 0 for bits in (16, 32) for spread in SPREADS)


def test_the_banner_says_what_binds_and_by_how_much(bench):
    view = bench.turn("act2", row="Q5_1")
    assert (view["banner"]["tone"], view["banner"]["title"]) == ("warn", "Off the frontier") and "Q5_K_M" in view["banner"]["text"]
    assert cards(bench.turn("act2", row="Q8_0"))["Frontier"] == "on" and bench.lab.readouts["act2"]["on_frontier"]
    late = bench.turn("act2", row="Q8_0", limit_ms=1)
    assert late["banner"]["tone"] == "fail" and bench.lab.readouts["act2"]["constraint_hit"]
    digits = bench.turn("act2", data="digits", share=50, zeros="bitmap")
    assert "slower" in digits["banner"]["title"] and "µs" in bare(digits["banner"]["text"])
    assert len(figure(digits, "frontier")["table"]["rows"]) == 7 * 8 * 2
    assert marks(digits, "breakeven")["prediction"]["x"] == 50 and marks(digits, "breakeven")["truth"]["x"] == pytest.approx(80)


def test_every_share_and_every_axis_draws(bench):
    for share in SHARES:
        for cost in ("bytes", "time"):
            for harm in ("errors", "kl"):
                view = bench.turn("act2", data="digits", share=share, cost=cost, harm=harm)
                assert view["figures"] and not view.get("error")
    for harm in ("errors", "kl"):
        assert figure(bench.turn("act2", data="llama", cost="time", harm=harm), "frontier")["x"]["unit"] == "s"


def test_a_microcontroller_takes_the_reader_and_says_why_not_llama(page):
    page.first_act().predict("act2", "p80", 3)
    page.reload().send("context", value="cortex_m7")
    instrument = page.piece("act2.instrument")
    refused = next(option for option in instrument.view["dials"]["data"]["options"] if option["value"] == "llama")
    assert page.lab.instruments["act2"].values["data"] == "digits" and "FP16 unit" in refused["disabled"]


def test_what_is_saved_and_where_it_begins(page):
    page.ledger.append("lab_08_ledger", "design", {"model": "resnet50"})
    complete(page.lab)
    page.reload()
    page.save()
    design = page.ledger.design(SLUG)
    assert {
        "model",
        "bits",
        "scheme",
        "sparsity",
        "width",
        "bytes",
        "kl",
        "accuracy",
        "flips",
        "seconds",
        "on_frontier",
        "constraint_hit",
    } <= set(design)
    assert (design["context"], design["model"], design["act1_correct"]) == ("h200_sxm", "llama3_8b", True)


def test_a_run_on_this_machine_stands_beside_the_claims(page):
    complete(page.lab)
    rows = [
        {"kind": "figure", "name": "accuracy", "label": f"{b} bits", "value": 98.0, "low": 97.0, "high": 99.0, "unit": "%", "samples": 797,
         "params": {"bits": b, "scale": str(scale), "kl": 5.0 ** (8 - b) * 1e-5, "flips": 3}}
        for b in compression.BITS for scale, _ in compression.SCALES
    ]  # fmt: skip
    seconds = {"fp32": 1e-4, "fp16": 4e-3, "int8": 3e-4, "zeros_90": 1e-4, "csr_90": 5e-5}
    formats = [
        {"kind": "case", "name": name, "label": name, "params": {"batch": 1, "bytes": 4e6}, **timing(s)} for name, s in seconds.items()
    ]
    for name, found in (("bits", rows), ("formats", formats)):
        told = {"experiment": name, "library": "NumPy 2.1.3", "rows": found, "machine": machine(), "software": {"python": "3.11.2"},
                "noise": {"noisy": False, "reasons": []}}  # fmt: skip
        page.ledger.append(SLUG, "measured", told)
    page.reload()
    assert "5×" in bare(page.parts["act1_claims"].text).replace("\u202f", " ")
    own = [
        m for m in figure(page.turn("act1", scale="channel"), "divergence")["marks"] if m.get("colour") == "here" and m["type"] == "point"
    ]
    assert {m["x"]: m["y"] for m in own} == {float(b): pytest.approx(5.0 ** (8 - b) * 1e-5) for b in compression.BITS}
    view = page.turn("act2", row="Q8_0")
    assert marks(view, "sizes")["bar-FP16 here"]["x"] == pytest.approx(4000) and marks(view, "sizes")["bar-INT8 here"][
        "x"
    ] == pytest.approx(300)
