"""What the learner measured here, in the three labs: offered after the lock, kept, drawn beside the prediction and the recorded H200."""

import re
from contextlib import contextmanager

import pytest
from headless import Page, bare
from ledger_at_hand import open_ledger
from measured import ROWS, keep

from ironlaw.measure.experiments import trials
from ironlaw.measure.software_host import machine
from ironlaw.registry.loader import folder

LABS = {
    "lab_01_magnitude": ("e9", "own_stack", "memory"),
    "lab_07_fusion": ("p90", "share", "e4"),
    "lab_11_roofline": ("bug", "reuse", "alike"),
    "lab_12_amdahl": ("x2", "x5", "x32"),
}
OFFERED = {
    "lab_01_magnitude": {"act1": ["this_machine"], "act2": ["tiny_ops", "ds_cnn", "this_machine"]},
    "lab_07_fusion": {
        "act1": ["tiny_ops", "ds_cnn", "this_machine"],
        "act2": ["three_op_chain", "pointwise_chain", "this_machine"],
    },
    "lab_11_roofline": {"act1": ["gemm_sweep", "this_machine"]},
    "lab_12_amdahl": {"act1": ["stages", "this_machine"], "act2": ["workers", "this_machine"]},
}


@contextmanager
def revealed(folder, slug, *names):
    """Both predictions committed, and these experiments measured."""
    first, reflection, second = LABS[slug]
    with open_ledger(folder / f"{slug}.db") as ledger:
        page = Page(ledger, slug)
        page.predict("act1", first)
        page.reload().reflect("act1", reflection)
        page.reload().predict("act2", second)
        keep(ledger, slug, *names)
        yield page.reload()


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """The three labs, complete with measurements; made once."""
    with (
        revealed(tmp_path_factory.mktemp("one"), "lab_01_magnitude", "tiny_ops", "ds_cnn") as one,
        revealed(tmp_path_factory.mktemp("seven"), "lab_07_fusion", *(name for name in ROWS if name != "gemm_sweep")) as seven,
        revealed(tmp_path_factory.mktemp("eleven"), "lab_11_roofline", "gemm_sweep") as eleven,
    ):
        yield {1: one, 7: seven, 11: eleven}


def figure(view, name):
    return next(found for found in view["figures"] if found["id"] == name)


def named(drawn, name):
    return next(mark for mark in drawn["marks"] if mark.get("name", "").startswith(name))


@pytest.mark.parametrize("slug", LABS)
def test_nothing_can_be_measured_before_the_prediction(tmp_path, slug):
    with open_ledger(tmp_path / "ledger.db") as ledger:
        page = Page(ledger, slug)
        assert not [name for name in page.parts if name.endswith("_measure") and page.parts[name] is not None]
        assert not [name for name in page.lab.elements if name.endswith(".measure")] and "Measure it here" not in page.text


@pytest.mark.parametrize("slug", LABS)
def test_each_act_offers_what_fits_it(tmp_path, slug):
    with revealed(tmp_path, slug) as page:
        offered = {
            name.partition(".")[0]: shown.widget.view["items"] for name, shown in page.lab.elements.items() if name.endswith(".measure")
        }
        assert {act: [item["id"] for item in items] for act, items in offered.items()} == OFFERED[slug]
        assert all(item["runs"] and item["seconds"] and not item["result"] for items in offered.values() for item in items)
        claims = bare("".join(page.parts[f"{act}_claims"].text for act in OFFERED[slug]))
        assert "Measured here" not in claims and "Measured" in claims


def test_a_measured_machine_is_not_offered_again(tmp_path, ironlaw_home):
    place = ironlaw_home / "hardware"
    place.mkdir()
    (place / "this_machine.toml").write_text((folder("hardware") / "laptop_cpu.toml").read_text())
    with revealed(tmp_path, "lab_11_roofline") as page:
        assert [item["id"] for item in page.piece("act1.measure").view["items"]] == ["gemm_sweep"]
        assert page.lab.contexts[-1].label == "This machine"


def test_another_machine_s_run_is_not_shown(tmp_path):
    with revealed(tmp_path, "lab_01_magnitude") as page:
        keep(page.ledger, page.slug, "tiny_ops", machine={**machine(), "cpu": "PDP-11"})
        assert page.reload().lab.local_run("tiny_ops") is None
        keep(page.ledger, "lab_07_fusion", "tiny_ops")  # measured in another lab: the machine is the same
        assert page.reload().lab.local_run("tiny_ops") is not None


# --- Lab 01: 2 µs an op here, 10.9948 µs on the H200's host; the spotter takes 2 ms at batch 1


def test_lab_01_draws_the_launches_at_this_machine_s_cost(lab):
    view = lab[1].turn("act2", device="h100_sxm", workload="resnet50", batch=1, launch="each", dtype="fp16", convention="weights")
    bars = figure(view, "terms")
    overhead = next(mark for mark in bars["marks"] if mark.get("id") == "overhead")
    kernels = round((overhead["x1"] - overhead["x0"]) / 1e-5)  # at the registry's 10 µs
    assert kernels > 100
    here, recorded = named(bars, "L at this host's cost"), named(bars, "L at the H200 host's")
    assert here["x1"] == pytest.approx(kernels * 2e-6) and here["colour"] == "here" and here["y"] in bars["y"]["names"]
    assert recorded["x1"] == pytest.approx(kernels * 1.09948e-5) and recorded["colour"] == "cloud"
    assert "L at this host's cost" in bars["text"] and any(row[0] == "L at this host's cost" for row in bars["table"]["rows"])
    once = figure(lab[1].turn("act2", launch="one"), "terms")
    assert not any(mark.get("name", "").startswith("L at ") for mark in once["marks"])


def test_lab_01_draws_the_spotter_beside_the_h200(lab):
    bars = figure(lab[1].turn("act2", workload="dscnn_kws", batch=1, launch="one"), "terms")
    here, recorded = named(bars, "T measured here"), named(bars, "T on an H200")
    assert here["x1"] == 2e-3 and here["type"] == "bar" and recorded["x1"] == pytest.approx(9.54169e-4)
    assert ["10 to 90%", "1.8\u202fms to 2.4\u202fms"] in list(map(list, here["hover"][:2]))
    eight = figure(lab[1].turn("act2", workload="dscnn_kws", batch=8), "terms")
    assert named(eight, "T measured here")["x1"] == 16e-3 and "T on an H200" not in eight["text"]
    assert "Measured" not in figure(lab[1].turn("act2", workload="dscnn_kws", batch=7), "terms")["text"]


def test_lab_01_tells_what_it_means(lab):
    ops, spotter = (item["result"] for item in lab[1].piece("act2.measure").view["items"][:2])
    said = lab[1].slots("act2.here_ops", ops)
    assert (said["each"], said["span"], said["loop"], said["recorded"]) == ("2 µs", "1.8 µs to 2.4 µs", "100 ns", "11 µs")
    assert lab[1].shows("act2.here_no_queue", said["queue"]) and "quiet enough" in bare(ops)
    said = lab[1].slots("act2.here_spotter", spotter)
    assert (said["wall"], said["recorded"], said["recorded_format"]) == ("2 ms", "954 µs", "FP16")
    claims = bare(lab[1].parts["act2_claims"].text)
    # 2 µs over the H100's 8.27 µs for ResNet-50's arithmetic
    assert "Measured here" in claims and "0.242×" in claims


# --- Lab 07


def test_lab_07_has_rows_at_this_machine_s_cost_for_textbook_models(lab):
    view = lab[7].turn("act1", model="kws", mode="eager", dispatch="synchronous")
    waterfall, meter = figure(view, "waterfall"), figure(view, "meter")
    assert "eager, at your launch cost" in waterfall["y"]["names"] and "eager, at the H200's cost" in waterfall["y"]["names"]
    bars = {mark["y"]: mark["x"] for mark in meter["marks"] if mark["type"] == "bar"}
    assert bars["eager, at your launch cost"] == pytest.approx(100 * 5 / 7)  # 5 µs of maths, 2 µs to launch it
    assert bars["eager, at the H200's cost"] == pytest.approx(100 * 5 / 15.9948)
    ops, spotter = (item["result"] for item in lab[7].piece("act1.measure").view["items"][:2])
    assert lab[7].slots("act1.here_ops", ops)["share"] == "71.4%" and lab[7].shows("act1.here_slower", spotter)


def test_lab_07_has_the_spotter_s_walls_for_its_graph(lab):
    waterfall = figure(lab[7].turn("act1", model="graph:dscnn_kws"), "waterfall")
    ends = {mark["y"]: mark["x1"] for mark in waterfall["marks"] if mark.get("x1") and mark["y"].startswith("measured")}
    assert ends == pytest.approx({"measured here": 2e-3, "measured on an H200": 9.54169e-4})
    assert "eager, at your launch cost" not in waterfall["y"]["names"]
    assert "measured here 2" in waterfall["text"].replace("\u202f", " ")


def test_lab_07_draws_what_one_pass_gains_by_size_and_by_length(lab):
    view = lab[7].turn("act2", chain=["layer_norm", "dropout", "relu"], training=False)
    sizes, lengths = figure(view, "sizes"), figure(view, "lengths")
    points = {mark["x"]: mark["y"] for mark in sizes["marks"] if mark["type"] == "point" and mark["colour"] == "here"}
    assert points == {4.0 * a * b: 1.0 if (a, b) == trials.SHAPES[0] else 2.0 for a, b in trials.SHAPES}
    assert any(mark["colour"] == "accent" and mark["type"] == "point" for mark in sizes["marks"])  # the H200's
    points = {mark["x"]: mark["y"] for mark in lengths["marks"] if mark["type"] == "point" and mark["colour"] == "here"}
    assert points == {float(n): 4.0 for n in trials.LENGTHS}
    recorded = {mark["x"]: mark["y"] for mark in lengths["marks"] if mark["type"] == "point" and mark["colour"] == "accent"}
    assert recorded == pytest.approx({4.0: 1.64103e-4 / 6.20098e-5, 24.0: 8.04748e-4 / 4.59776e-5})
    traffic = next(mark for mark in lengths["marks"] if mark.get("name") == "traffic")["points"]
    assert traffic == [[float(n), float(n)] for n in trials.LENGTHS]
    assert "measured here, NumPy 2.1.3" in lengths["text"] and "measured here" in str(lengths["legend"])


def test_lab_07_leaves_another_chain_s_plot_alone(lab):
    sizes = figure(lab[7].turn("act2", chain=["relu", "gelu"]), "sizes")
    assert not [mark for mark in sizes["marks"] if mark.get("colour") == "here"]


def test_lab_07_tells_what_it_means(lab):
    items = lab[7].piece("act2.measure").view["items"]
    three = lab[7].slots("act2.here_three", items[0]["result"])
    assert (three["eager"], f"{three['fused']} {three['way']}") == ("4 ms", "2 ms in one pass, block by block")
    assert (three["gain"], three["most"]) == ("2×", "3×")
    chain = lab[7].slots("act2.here_chain", items[1]["result"])
    assert (chain["ops"], chain["eager"], chain["most"]) == ("24", "24 ms", "24×")
    assert f"{chain['fused']} {chain['way']}" == "6 ms in one pass, block by block"
    assert "2 µs" in bare(lab[7].parts["act1_claims"].text)
    assert "in one pass, block by block, 1,024 × 768; measured here, NumPy 2.1.3" in bare(lab[7].parts["act2_claims"].text)


# --- Lab 11: 10, 20 and 40 GFLOP/s in FP32


def test_lab_11_draws_the_products_without_comparing_them_with_another_s_roof(lab):
    roofs = figure(lab[11].turn("act1", here=True, device="h100_sxm"), "roofs")
    points = {mark["name"]: mark for mark in roofs["marks"] if mark["type"] == "point" and mark["colour"] == "here"}
    assert [mark["y"] for mark in points.values()] == pytest.approx([1e10, 2e10, 4e10])
    best = points["this machine measured, FP32, N = 1,024"]
    assert best["x"] == pytest.approx(2 * 1024 / 12) and "40" in best["label"]  # 2N³ over three matrices of four bytes
    said = dict(row for row in best["hover"] if isinstance(row, list))
    assert "reached" in said and "of the roof" not in said and "attainable" not in said
    assert "this machine measured, FP32, N = 1,024" in roofs["text"] and "this machine: measured here, NumPy 2.1.3" in str(roofs["legend"])
    assert not any(mark.get("colour") == "here" for mark in figure(lab[11].turn("act1", here=False), "roofs")["marks"])


def test_lab_11_draws_them_under_this_machine_s_own_roof_once_it_is_known(tmp_path, ironlaw_home):
    place = ironlaw_home / "hardware"
    place.mkdir()
    (place / "this_machine.toml").write_text((folder("hardware") / "laptop_cpu.toml").read_text())
    with revealed(tmp_path, "lab_11_roofline", "gemm_sweep") as page:
        for device in ("h100_sxm", "this_machine"):
            roofs = figure(page.turn("act1", here=True, device=device), "roofs")
            best = named(roofs, "this machine measured, FP32, N = 1,024")
            said = dict(row for row in best["hover"] if isinstance(row, list))
            peak = page.lab.contexts[-1].hardware.peak("fp32")
            assert said["of the roof"].replace("\u202f", " ") == f"{100 * 4e10 / peak:.3g}%"
            assert any(str(mark.get("name", "")).startswith("this machine: peak") for mark in roofs["marks"])
        assert page.shows("act1.here_roof", page.piece("act1.measure").view["items"][0]["result"])


def test_lab_11_tells_what_it_means(lab):
    result = lab[11].piece("act1.measure").view["items"][0]["result"]
    said = lab[11].slots("act1.here", result)
    assert (said["least_n"], said["least"], said["best_n"], said["best"]) == ("64", "10 GFLOP/s", "1,024", "40 GFLOP/s")
    assert said["times"] == "4" and lab[11].shows("act1.here_no_roof", result)
    claims = bare(lab[11].parts["act1_claims"].text)
    assert "20 GFLOP/s" in claims and "40 GFLOP/s" in claims


def test_the_switch_is_there_only_when_something_was_measured(lab, tmp_path):
    dials = {dial["id"]: dial for dial in lab[11].piece("act1.instrument").spec["dials"]}
    assert not dials["here"].get("hidden")
    with revealed(tmp_path, "lab_11_roofline") as page:
        assert page.piece("act1.instrument").view["dials"]["here"]["hidden"] is True


@pytest.mark.parametrize("number", [1, 7, 11])
def test_every_picture_with_a_measurement_has_words_for_it(lab, number):
    for name, shown in lab[number].lab.elements.items():
        for drawn in shown.widget.view.get("figures", ()) if name.endswith(".instrument") else ():
            own = [mark for mark in drawn["marks"] if mark.get("colour") == "here" and mark["type"] != "line"]
            if own:
                told = drawn["text"] + str(drawn["table"])
                assert all(mark["name"] in told for mark in own), drawn["id"]


def test_a_machine_with_fp32_alone_is_spoken_of_and_counted_rightly(tmp_path, ironlaw_home):
    """It stores weights in two bytes though it multiplies in four: 8.03 G of them are 16.1 GB, and fit into 24 GiB."""
    place = ironlaw_home / "hardware"
    place.mkdir()
    text = (folder("hardware") / "neoverse_n1_2core.toml").read_text()
    (place / "this_machine.toml").write_text(re.sub(r"\[peak\.(?!fp32)\w+\][^\[]*", "", text))
    with revealed(tmp_path, "lab_11_roofline") as page:
        assert list(page.lab.contexts[-1].hardware.peaks) == ["fp32"]
        view = page.turn("act2", device="this_machine", weights="fp16", batch=1, context=256)
        assert view["banner"]["tone"] != "fail" and "16.1 GB" in bare(str(view)) and "32.1 GB" not in bare(str(view))
        every = str(view["dials"]) + str(page.turn("act1", device="this_machine")["dials"])
        assert (
            "the this machine" not in every
            and "This machine: This machine" not in every
            and "this machine has no TF32 rate" in every
            and "was not measured" not in every
        )
