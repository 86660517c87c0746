"""Side by side: like with like, speeds against the first, and batches that do not fit say so."""

from dataclasses import replace

import pytest

from ironlaw.engine.device.machine import Plan
from ironlaw.engine.device.predict import predict
from ironlaw.engine.device.stored_weights import OWN, quantised
from ironlaw.registry.machines import hardware
from ironlaw.registry.workloads import workload
from ironlaw.report.model_variants import Variant, comparable, lines, matrix, names, ordered
from ironlaw.report.report_page import html
from ironlaw.report.sections.variants_section import batches_and_weights, machines_and_modes
from ironlaw.units import significant


def test_modes_against_machines(analysed):
    found = analysed(machines=("h100_sxm", "t4"))
    modes, rows = matrix(found.predictions)
    assert modes == ["eager", "compiled", "graphs"]
    assert [row[0][0] for row in rows] == ["h100_sxm", "t4"]
    assert rows[0][1][1] == "1×"
    first, slow = found.predictions[0], found.of("t4", "compiled")
    assert rows[1][2][1] == f"{first.seconds / slow.seconds:.3g}×"


def test_a_mode_that_is_missing_leaves_a_dash(analysed):
    found = analysed(machines=("h100_sxm", "t4"))
    _, rows = matrix(tuple(p for p in found.predictions if (p.hardware.slug, p.plan.mode) != ("t4", "compiled")))
    assert rows[1][2] == ("–", "")


@pytest.mark.parametrize(
    ("other", "basis", "words"), [("t4", "transferred", "as if none had been"), ("m3_max", "bound", "from their datasheets")]
)
def test_measured_and_unmeasured_machines_are_compared_like_with_like(analysed, other, basis, words):
    found = analysed(machines=("h200_sxm", other))
    shown, mixed = comparable(found.predictions, found.graph)
    assert mixed == basis and {p.basis for p in shown} == {basis}
    assert words in machines_and_modes(found.predictions, found.graph)
    alone = analysed(machines=("h200_sxm",))
    assert comparable(alone.predictions, alone.graph) == (alone.predictions, "")


def test_tables_sort_within_a_kind():
    graph = workload("gpt2_layer", dtype="bf16")
    mixed = [predict(graph, hardware(slug)) for slug in ("tpu_v5e", "a100_80gb_sxm", "h200_sxm", "l4")]
    assert [p.hardware.slug for p in ordered(mixed)] == ["h200_sxm", "a100_80gb_sxm", "l4", "tpu_v5e"]


def variant(batch, fmt, machines=("h200_sxm",)):
    graph = workload("gpt2_layer", batch=batch)
    graph = graph if fmt == OWN else quantised(graph, fmt)
    return Variant(batch, fmt, graph, tuple(predict(graph, hardware(m), Plan(mode)) for m in machines for mode in ("eager", "graphs")))


def test_a_line_for_each_batch_and_storage():
    columns, rows = lines((variant(8, OWN), variant(64, OWN), variant(8, "int4")))
    assert columns == ["variant", "memory", "h200_sxm"]
    assert [row[0] for row in rows] == ["batch 8, weights as they are", "batch 64, weights as they are", "batch 8, weights in int4"]
    one = variant(8, OWN).predictions[1]
    assert rows[0][2].split(", ", 1)[1] == f"{significant(8 / one.seconds)}/s"
    assert names((variant(1, OWN), variant(8, OWN))) == ["batch 1", "batch 8"]
    assert names((replace(variant(1, OWN), batch=None), variant(8, OWN))) == ["this call", "batch 8"]


def test_what_does_not_fit_says_so():
    small = replace(variant(8, OWN).predictions[0], hardware=replace(hardware("h200_sxm"), capacity=1e6, reserved=0.0))
    _, (row,) = lines((Variant(8, OWN, small.graph, (small,)),))
    assert row[-1] == ("does not fit", "c-fail")


def test_in_the_report(analysed):
    more = (variant(1, OWN), variant(8, OWN))
    page = html(analysed(machines=("h100_sxm", "t4"), variants=more))
    assert '<section id="variants"' in page and batches_and_weights(more) in page
    assert "Machines and modes" in page
    alone = html(analysed(machines=("h100_sxm",), variants=more[:1]))
    assert '<section id="variants"' not in alone and "Machines and modes" not in alone
