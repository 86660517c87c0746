"""The file: everything in it, nothing asked for, nothing of marimo or PyTorch needed, and figures that agree with the predictions."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from ironlaw.engine.device.machine import Plan
from ironlaw.engine.device.predict import predict
from ironlaw.engine.device.types import Graph, Tensor
from ironlaw.engine.device.work import op
from ironlaw.errors import BadValue
from ironlaw.pictures.moving.launches import HAIR
from ironlaw.registry.machines import compile_cost, hardware
from ironlaw.report.analysis import Analysis, Payback
from ironlaw.report.kineto import read
from ironlaw.report.report_page import html, write
from ironlaw.report.sections import details
from ironlaw.report.sections.breakeven_section import by_mode, verdict
from ironlaw.report.sections.fusion_section import every_layer, shorter
from ironlaw.report.sections.summary import summary
from ironlaw.report.sections.trace_section import plain
from ironlaw.report.trace_join import join
from ironlaw.widget.glossary_words import marked

DATA = Path(__file__).parent / "data"


class Reader(HTMLParser):
    """What stands in the page: words by section, ids, and every address that something would be fetched from."""

    VOID = ("meta", "input", "br", "img", "link")

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.section, self.inline = "", False
        self.words: dict[str, str] = {}
        self.ids: list[str] = []
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.wrong: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.ids += [given["id"]] if "id" in given else []
        self.links += [given["href"]] if tag == "a" else []
        self.fetched += [value for name, value in attrs if name in ("src", "srcset", "data") or (name == "href" and tag != "a")]
        if tag == "section":
            self.section = given["id"]
        self.inline = tag == "dfn"  # a marked word stands in its sentence
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)
        if tag == "section":
            self.section = ""
        self.inline = tag == "dfn"

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("script", "style"):
            self.words[self.section] = self.words.get(self.section, "") + ("" if self.inline else " ") + data


def carried(page: str) -> dict:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found
    return json.loads(found[1])


def test_every_section_is_there_and_the_links_lead_to_them(analysed, named):
    graph = named("conv.convolution", "fc.addmm")
    joined = join(predict(graph, hardware("h200_sxm"), Plan()), read(DATA / "cuda.json"))
    page = Reader(html(analysed(machines=("h200_sxm", "t4"), per_day=1e6, joined=joined, refused={"esp32_s3": "has no fp16"})))
    assert not page.wrong and not page.open
    names = [
        "verdict",
        "captured",
        "summary",
        "modes",
        "devices",
        "details",
        "operators",
        "memory",
        "fusion",
        "breakeven",
        "trace",
        "sources",
    ]
    assert [name for name in page.words if name] == names
    assert len(set(page.ids)) == len(page.ids)
    assert {link.removeprefix("#") for link in page.links} <= set(page.ids)
    assert "esp32_s3: has no fp16" in page.words["summary"]
    assert "all are predicted here as if none had been (transferred)" in page.words["devices"]
    assert "someone_elses_kernel" in page.words["trace"]


def test_nothing_is_asked_for(analysed):
    text = html(analysed())
    assert Reader(text).fetched == []
    assert "default-src 'none'" in text
    assert re.search(r'@font-face \{ font-family: "Inter"; src: url\("data:font/woff2;base64,d09G', text)  # its own typeface, inside
    assert not re.search(
        r"\bimport\s*\(|@import|url\((?!#|\"data:font/woff2)|fetch\(|XMLHttpRequest|WebSocket", re.sub(r"url\(#\$\{[^}]*\}\)", "", text)
    )


def test_host_and_device_run_as_predicted(analysed):
    """All modes of a machine side by side, each to its own wall time."""
    whole = analysed("dscnn_kws", machines=("h200_sxm", "t4"))
    films = details.films(whole.by_phase)
    assert len(films) == 2
    film = films["h200_sxm"].to_dict()
    slow = max(whole.on("h200_sxm"), key=lambda p: p.seconds)
    assert film["end"] == pytest.approx(slow.seconds, rel=1e-5)
    lanes = sorted({bar[2] for bar in film["bars"]})[1::2]
    for y, p in zip(lanes, whole.on("h200_sxm"), strict=True):
        drawn = sum(bar[1] - bar[0] for bar in film["bars"] if bar[2] == y)
        unseen = HAIR * film["end"] * (p.kernels - 1)  # gaps that nobody could see are drawn over
        assert p.busy_s * (1 - 1e-3) <= drawn <= p.busy_s + unseen, p.plan.mode
        assert max(bar[1] for bar in film["bars"] if bar[2] == y) == pytest.approx(p.seconds, rel=1e-4)


def test_what_is_said_is_what_was_predicted(analysed):
    analysis = analysed(machines=("h200_sxm",), per_day=10_000)
    text = html(analysis)
    page, data = Reader(text), carried(text)
    eager, compiled, graphs = analysis.predictions
    for p in analysis.predictions:
        assert f"{p.kernels:,.0f}" in page.words["summary"]
        costs = data["operators"]["costs"][f"h200_sxm/{p.plan.mode}/prefill"]
        assert len(costs["rows"]) == len(data["operators"]["graphs"][costs["graph"]]) == len(p.ops)
        assert sum(row[0] for row in costs["rows"]) == pytest.approx(float(p.busy_s), rel=1e-3)
        assert [row[0] for row in data["operators"]["graphs"][costs["graph"]]] == [row.name for row in p.ops]
        bars = [m for m in data["figures"]["machines"]["marks"] if m["type"] == "bar" and m["y"] == p.plan.mode]
        assert bars[-1]["x1"] == pytest.approx(float(p.seconds))  # the parts add up to the run
    assert len(data["operators"]["graphs"]) == 2  # compiled and graphs share theirs
    saved = float(eager.seconds) - float(compiled.seconds)
    assert (
        f"compiling pays for itself after {-int(-30 // saved):,} calls; at 10,000 calls per day, on day {-int(-30 / saved // 10_000)}"
        in page.words["breakeven"]
    )
    assert float(graphs.seconds) < float(compiled.seconds)
    for line in eager.sources:
        assert line in page.words["sources"]


def test_the_first_screen_answers(analysed):
    analysis = analysed(machines=("h200_sxm",), per_day=10_000)
    text = html(analysis)
    words = " ".join(Reader(text).words["verdict"].split())
    advice = analysis.verdict
    assert advice.finding in words and advice.actions
    for action in advice.actions:
        assert action.title in words and all(cost in words for cost in action.costs)
    assert "Does compiling pay?" in words and "Would another machine help?" in words
    assert len(advice.elsewhere) > 3 and all(action.after.hardware.name in words for action in advice.elsewhere)
    assert "modes" not in Reader(text).words  # the picture has them all


def test_machines_of_different_kinds_share_an_axis_on_the_same_grounds_and_the_same_host(analysed):
    analysis = analysed(machines=("h200_sxm", "t4"))
    text = html(analysis)
    figures = carried(text)["figures"]
    assert {"machines", "modes-calibrated", "modes-transferred"} <= set(figures) and "To compare like with like" in str(figures["machines"])
    first = analysis.predictions[0]
    plan = Plan("eager", transferred=True, host=first.host)
    for slug in ("h200_sxm", "t4"):
        bars = [m for m in figures["machines"]["marks"] if m["type"] == "bar" and m["y"] == f"{slug} eager"]
        assert bars[-1]["x1"] == pytest.approx(float(predict(analysis.graph, hardware(slug), plan).seconds))
        own = "calibrated" if slug == "h200_sxm" else "transferred"
        assert {m["y"].split()[0] for m in figures[f"modes-{own}"]["marks"] if m["type"] == "bar"} == {slug}


def test_fusion_groups_and_refused_edges(analysed):
    from ironlaw.backends.inductor import INDUCTOR
    from ironlaw.engine.device.fusion import fuse

    analysis = analysed()
    grids = carried(html(analysis))["grids"]
    plan = fuse(analysis.graph, INDUCTOR)
    groups, edges = grids["groups-0"]["rows"], grids["edges-0"]["rows"]
    assert sum(row[1] for row in groups) == sum(len(group.ops) > 1 for group in plan.groups)
    assert sum(row[1] * row[2] for row in groups) == sum(len(group.ops) for group in plan.groups if len(group.ops) > 1)
    assert sum(row[5] for row in groups) == pytest.approx(float(plan.bytes_saved))
    assert sum(row[2] for row in edges) == sum(not v.fused for v in plan.verdicts)
    assert {row[4] for row in edges} == {v.reason for v in plan.verdicts if not v.fused}


def test_what_repeats_layer_by_layer_stands_once(analysed):
    analysis = analysed("gpt2")
    groups = carried(html(analysis))["grids"]["groups-0"]["rows"]
    assert max(row[1] for row in groups) >= 12 and len(groups) < 20
    assert every_layer("transformer.h.3.mlp.act.mul.2…transformer.h.3.add") == "transformer.h.*.mlp.act.mul.*…transformer.h.*.add"
    assert every_layer("ln_1.conv2d") == "ln_1.conv2d"
    same = "visit the same elements in the same order"
    assert shorter(f"a and b {same}; b and c {same}") == f"all {same}"
    assert shorter(f"x is done on the tile; a and b {same}; b and c {same}") == f"x is done on the tile; the others {same}"
    assert shorter(f"a and b {same}; x is done on the tile") == f"a and b {same}; x is done on the tile"


def test_names_of_kernels_are_short():
    assert plain("void at::native::vectorized_elementwise_kernel<4, at::native::F>(int, F)") == "vectorized_elementwise_kernel"
    assert plain("Memset (Device)") == "Memset"
    assert plain("nvjet_sm90_hsh_64x8") == "nvjet_sm90_hsh_64x8"


def test_never_and_not_known(analysed):
    one = Tensor("x", (1 << 24,), "fp16", "input")
    graph = Graph("one", (op("relu", "relu", [one], [Tensor("y", (1 << 24,), "fp16")]),), "fp16")
    made = tuple(predict(graph, hardware("t4"), Plan(mode)) for mode in ("eager", "compiled"))
    assert "compiling never pays" in Reader(html(Analysis(graph, made))).words["breakeven"]
    alike = Payback(hardware("t4"), "compiled", 464e-6, 464.1e-6, None, None, None)
    assert verdict(alike, None).endswith("a call takes 464\u202fµs either way")
    on = [Payback(hardware(slug), "graphs", 4e-3, 1e-3, None, calls, days) for slug, calls, days in (("t4", 999.5, 0.2), ("l4", 80.0, 1.5))]
    several, single = by_mode([replace(alike, machine=hardware("l4")), *on], 99.0)[1:], by_mode(on[:1], 500.0)
    assert several == [
        "Compiling and replaying as a graph pays for itself after 1,000 calls on t4 and 80 calls on l4; at 99 calls per day, on day 1 or 2."
    ]
    assert single == ["t4: compiling and replaying as a graph pays for itself after 1,000 calls; at 500 calls per day, on day 1."]
    page = Reader(html(analysed(compiled=False)))
    assert "each second of compiling pays for itself after" in page.words["breakeven"]
    assert "The compile time is not known here" in page.words["breakeven"]
    page = Reader(html(analysed(modes=("eager",))))
    assert "--mode eager,compiled" in page.words["breakeven"]


def test_a_model_that_one_machine_does_not_hold_is_answered_for_the_fewest_that_do(analysed):
    assert "Too large for one" not in summary(analysed(modes=("eager",)))
    shown = summary(analysed("llama3_8b", ("t4",), ("eager",)))
    assert "Too large for one" in shown and "Split into stages, it fits on 2 of them" in shown


def test_a_predicted_compile_time_says_that_it_is_one(analysed):
    from ironlaw.report.analysis import compiling

    analysis = analysed(compiled=False)
    kernels = float(analysis.predictions[1].kernels)
    told = replace(analysis, compiling=compiling(analysis.predictions))
    assert told.compiling["h200_sxm"].seconds == pytest.approx(compile_cost(hardware("h200_sxm"))[0] * kernels)
    words = Reader(html(told)).words["breakeven"]
    assert "pays for itself after about" in words and "Compile time: predicted, 89.8 ms for each" in words and "≈" in words
    assert compiling(analysis.predictions[:1]) == {}  # nothing is compiled


def test_names_from_outside_are_text(named):
    bad = "</script><img src=x onerror=alert(1)>.relu"
    graph = named(bad, "relu")
    text = html(Analysis(graph, (predict(graph, hardware("t4"), Plan()),), target="<b>&", refused={"<i>": "&amp;"}))
    page = Reader(text)
    assert not page.wrong and page.fetched == []
    assert carried(text)["operators"]["graphs"]["g0"][0][0] == bad


def test_unknown_ops_are_named(named):
    from dataclasses import replace

    graph = replace(named("relu"), settings={"unknown": {"my_op": 3}})
    assert "my_op ×3" in Reader(html(Analysis(graph, (predict(graph, hardware("t4"), Plan()),)))).words["captured"]


def test_over_a_thousand_ops_stay_small(named):
    graph = named(*(f"layers.{i // 30}.part{i % 5}.relu" for i in range(1200)))
    made = tuple(predict(graph, hardware("t4"), Plan(mode)) for mode in ("eager", "graphs"))
    data = carried(html(Analysis(graph, made)))
    assert len(data["operators"]["costs"]["t4/eager"]["rows"]) == 1200
    for key in ("t4/eager", "t4/graphs"):
        for figure in data["details"][key].values():
            assert len(figure["marks"]) <= 500


def test_write_says_why_it_can_not(analysed, tmp_path: Path):
    assert write(analysed(), tmp_path / "r.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    with pytest.raises(BadValue, match=r"there is no folder .*none to write r.html into; create it"):
        write(analysed(), tmp_path / "none" / "r.html")


def test_neither_marimo_nor_torch_is_imported():
    code = (
        "import sys; from ironlaw.report.report_page import html; from ironlaw.report.analysis import Analysis;"
        "from ironlaw import hardware, predict, workload; g = workload('gpt2_layer'); html(Analysis(g, (predict(g, hardware('t4')),)));"
        "print([m for m in sys.modules if m.split('.')[0] in ('marimo', 'torch', 'anywidget', 'numpy')])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


def test_words_are_explained_in_the_file_itself(analysed):
    page = html(analysed())
    named = marked(page)
    assert {"eager", "kernel"} <= set(named)
    assert set(carried(page)["terms"]) == set(named), "every marked word has its explanation in the file, and no other is carried"
    for section in re.findall(r"<section .*?</section>", page, re.DOTALL):
        assert len(marked(section)) == section.count('class="il-gloss"'), "once in a section"
    assert not re.search(r"<(?:table|h2|th|summary|button)\b(?:(?!</(?:table|h2|th|summary|button)>).)*il-gloss", page, re.DOTALL)
