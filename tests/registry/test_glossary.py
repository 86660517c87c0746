"""The glossary: every term has a sentence and a figure that agrees with the registry, and no lab uses one of the course's words
without it."""

from __future__ import annotations

import ast
import math
import re
import tomllib
from pathlib import Path

import pytest
from in_groups import in_groups

import ironlaw
from ironlaw.claims import glossary
from ironlaw.claims.glossary import GROUPS, terms
from ironlaw.claims.glossary_figures import readable
from ironlaw.errors import BadRegistry
from ironlaw.slots import numbers
from ironlaw.units import parse

HARDWARE = Path(ironlaw.__file__).parent / "registry" / "hardware"
# what a newcomer can't be expected to know
ASKED_FOR = """H100|H200|A100|Orin NX|kernel|FP16|BF16|FP32|TF32|FP8|INT8|launch|ResNet-50|GPT-2|Llama|MobileNetV2|roofline|ridge|
arithmetic intensity|bandwidth|HBM|L2|SRAM|shared memory|register|SM|tensor core|FLOP|FLOP/s|TOP/s|batch|decode|prefill|KV cache|eager|
compile|fusion|CUDA graph|overhead|MFU|occupancy|latency|throughput|quantisation|attention|tile|break-even|orders of magnitude"""

REST = '\ngroup = "unit"\nsays = "A."\nfigure = "h100_sxm: power"'


def raw(machine: str) -> dict:
    return tomllib.loads((HARDWARE / f"{machine}.toml").read_text(encoding="utf-8"))


def value(name: str) -> float:
    return terms()[name].amount[0]


@in_groups("name", terms(), lambda name: f"{name[0]}…")
def test_a_term_has_one_sentence_and_one_sourced_figure(name):
    term = terms()[name]
    assert re.fullmatch(r"[A-Z][^.!?]*(?:torch\.compile[^.!?]*)*\.", term.says), "one sentence"
    assert len(term.says) <= 160
    assert math.isfinite(term.amount[0]) and term.amount[0] > 0
    assert term.figure.label and term.figure.value and len(term.figure.source) >= 8


@in_groups("name", [name for name, term in terms().items() if not isinstance(term.entry, str)], lambda name: f"{name[0]}…")
def test_a_computed_figure_is_computed(name):
    """It asks the registry or the engine for something, and what its label counts is what it is computed with."""
    label, expression, _ = terms()[name].entry
    tree = ast.parse(f"({expression})", mode="eval")
    assert any(isinstance(node, ast.Call) for node in ast.walk(tree))
    written = {float(node.value) for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, (int, float))}
    bare = re.sub(r"Raspberry Pi 5|Llama 3 8B|ViT-B/16", "", label)
    assert {float(number.replace(",", "")) for number in numbers(bare)} <= written


def test_the_words_that_newcomers_asked_for_are_there():
    spelled = {spelling.lower() for term in terms().values() for spelling in term.spellings}
    wanted = {word.strip().lower() for word in ASKED_FOR.split("|")}
    assert wanted <= spelled, wanted - spelled


def test_machines_figures_are_those_of_their_files():
    """Read from the TOML itself, without the registry's loader."""
    assert value("bandwidth") == parse(raw("h200_sxm")["bandwidth"]["value"])
    assert value("h100") == raw("h100_sxm")["units"]["sms"]
    assert value("a100") == parse(raw("a100_80gb_sxm")["peak"]["fp16"]["value"])
    assert value("orin_nx") == parse(raw("orin_nx_16gb")["power"]["value"])
    assert value("sm") == raw("a100_80gb_sxm")["units"]["sms"]
    l2 = next(level for level in raw("a100_80gb_sxm")["level"] if level["name"] == "l2")
    assert value("l2") == parse(l2["size"])
    assert terms()["bandwidth"].figure.source.startswith(raw("h200_sxm")["bandwidth"]["source"])


def test_computed_figures_agree_with_what_is_known_elsewhere():
    a100 = raw("a100_80gb_sxm")
    peak, bandwidth = parse(a100["peak"]["fp16"]["value"]), parse(a100["bandwidth"]["value"])
    assert value("ridge") == pytest.approx(peak / bandwidth)
    assert value("roofline") == pytest.approx(10 * bandwidth)  # left of the ridge
    assert value("resnet50") == pytest.approx(2 * 4.09e9, rel=0.01)  # torchvision's GMACs
    assert value("mobilenet_v2") == pytest.approx(2 * 300e6, rel=0.01)  # the paper's multiply-adds
    assert value("gpt2") == 124_439_808  # transformers' GPT2LMHeadModel
    assert value("llama") == 8_030_261_248  # the model card's
    assert value("kv_cache") == 2 * 32 * 8 * 128 * 2  # keys and values, layers, heads, width, bytes
    assert value("flop") == 2 * 1024**3
    assert value("occupancy") == 65_536 / 2_048  # registers and threads of an SM
    assert value("element_wise") == 1 / 8
    assert value("fusion") == 40.0  # add and GELU: five transfers of a tensor, fused three
    numpy = pytest.importorskip("numpy")
    for fmt, dtype in (("fp32", "float32"), ("fp16", "float16"), ("int8", "int8")):
        assert value(fmt) == numpy.dtype(dtype).itemsize
    assert value("batch") > 1 and value("utilisation") + value("overhead") == pytest.approx(100)


def test_no_figure_answers_a_prediction():
    """Lab 01 compares the H100 with the Cortex-M7 and seals their figures until a prediction is committed."""
    sealed = [table[axis] for table in map(raw, ("h100_sxm", "cortex_m7")) for axis in ("memory", "bandwidth", "power")]
    sealed += [figure for table in map(raw, ("h100_sxm", "cortex_m7")) for figure in table["peak"].values()]
    hidden = {parse(figure["value"]) for figure in sealed}
    assert not hidden & {term.amount[0] for term in terms().values()}


def test_shown_figures_are_rounded_and_have_units():
    assert terms()["bandwidth"].figure.value == "4.8 TB/s"
    assert readable(8_030_261_248, "") == "8.03 billion" and readable(124e6, "") == "124 million"
    assert readable(12.345, "%") == "12.3%" and readable(108, "") == "108"


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ('term = "X"\ngroup = "unit"\nsays = "A."', "no figure"),
        ('term = "X"\ngroup = "odd"\nsays = "A."\nfigure = "h100_sxm: power"', "machine, model"),
        ('term = "X"\ngroup = "unit"\nsays = "About 3 TB/s."\nfigure = "h100_sxm: power"', "'3' is typed"),
        ('term = "X"\ngroup = "unit"\nsays = "A."\nfigure = ["a", "len([1])", ""]', "no source"),
        ('term = "X"\ngroup = "unit"\nsays = "A."\nfigure = ["a", 3, ""]\nsource = "b"', "label, expression, unit"),
        (f'term = "X"\nalso = ["Y"]{REST}\n[two]\nterm = "Y"{REST}', "[one] too"),
    ],
)  # fmt: skip
def test_a_bad_entry_says_what_to_do(tmp_path, monkeypatch, table, says):
    (tmp_path / "glossary.toml").write_text(f"[one]\n{table}\n", encoding="utf-8")
    monkeypatch.setattr(glossary, "folder", lambda name: tmp_path / name)
    with pytest.raises(BadRegistry, match=re.escape(says)):
        terms.__wrapped__()


@pytest.mark.parametrize(("figure", "says"), [('"h100_sxm"', "names no machine"), ('"h100_sxm: speed"', "no figure 'speed'")])
def test_a_machine_without_that_figure_says_what_there_is(tmp_path, monkeypatch, figure, says):
    (tmp_path / "glossary.toml").write_text(f'[one]\nterm = "X"\ngroup = "unit"\nsays = "A."\nfigure = {figure}\n', encoding="utf-8")
    monkeypatch.setattr(glossary, "folder", lambda name: tmp_path / name)
    with pytest.raises(BadRegistry, match=says):
        _ = terms.__wrapped__()["one"].figure


def test_evidence_that_is_not_there_is_named(tmp_path, monkeypatch):
    text = '[one]\nterm = "X"\ngroup = "unit"\nsays = "A."\nfigure = ["a", "len(machines())", ""]\nsource = "evidence h200_sxm/none"\n'
    (tmp_path / "glossary.toml").write_text(text, encoding="utf-8")
    monkeypatch.setattr(glossary, "folder", lambda name: tmp_path / name)
    with pytest.raises(BadRegistry, match="h200_sxm/models"):
        _ = terms.__wrapped__()["one"].figure


def test_every_group_has_terms():
    assert {term.group for term in terms().values()} == set(GROUPS)
