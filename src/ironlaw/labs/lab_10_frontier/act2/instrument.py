"""Act II: the frontier. Dials, readouts, formula and banner; nothing is typed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw import kit
from ironlaw.kit import settings
from ironlaw.kit.formula import line, term
from ironlaw.labs.lab_10_frontier import llama, reader
from ironlaw.labs.lab_10_frontier.act2 import figures
from ironlaw.labs.lab_10_frontier.act2.banners import LIMITS, banner
from ironlaw.labs.lab_10_frontier.act2.case import DIGITS, ERRORS, KL, LLAMA, Case, DigitCase, LlamaCase, case_of, setting_of, tested
from ironlaw.labs.lab_10_frontier.reader import Setting, no_kernel
from ironlaw.pictures.theme import SYMBOLS
from ironlaw.systems.fields import parameters
from ironlaw.systems.limits import hit
from ironlaw.units import significant
from ironlaw.widget.figure import tabbed

CLAIMS = ("half_the_bits_twice_the_speed", "pruning_no_speedup", "half_zero_half_size")
MORE = ("net", "zeros", "product", "cost", "harm", "value", "column")  # dials in the fold


def dials(lab: kit.Lab) -> Any:
    own = {which: [name for name in parameters(which) if name not in parameters(Case)] for which in (LlamaCase, DigitCase)}

    def dials_at(values: Mapping[str, Any]) -> list[Any]:
        machine = lab.current_context.hardware
        refusal = llama.why_not(machine)
        data = DIGITS if refusal else values.get("data") or LLAMA
        setting = setting_of(values)
        of_llama, of_digits = {"hidden": data != LLAMA}, {"hidden": data != DIGITS}
        reader_dials: dict[str, Any] = dict.fromkeys(parameters(Setting), of_digits) | {
            "bits": {"value": 8, **of_digits},
            "scale": {"hidden": data != DIGITS or setting.bits == 32},
            "zeros": {"hidden": data != DIGITS or not setting.share},
            "product": {"disabled": no_kernel(setting, machine), **of_digits},
        }
        kinds = [(LLAMA, "Llama 3 8B"), (DIGITS, "digit classifier")]
        harms = {ERRORS: "perplexity" if data == LLAMA else "wrong answers", KL: "divergence"}
        return [
            kit.choice("data", "Model", kinds, data, {LLAMA: refusal} if refusal else {}),
            *settings.dials(LlamaCase, own[LlamaCase], **dict.fromkeys(own[LlamaCase], of_llama)),
            *settings.dials(Setting, **reader_dials),
            *settings.dials(DigitCase, own[DigitCase], **dict.fromkeys(own[DigitCase], of_digits)),
            *settings.dials(Case, harm={"options": harms}),
            kit.choice("value", "Sparse file, bits per weight", [(bits, str(bits)) for bits in (4, 8, 16, 32)], figures.VALUE),
            kit.choice("column", "Sparse file, bits per column number", [(bits, str(bits)) for bits in (8, 16, 32)], figures.COLUMN),
        ]

    return dials_at


def view(lab: kit.Lab, values: Mapping[str, Any]) -> kit.View:
    case = case_of(lab.current_context.hardware, values)
    option = lab.choice("act2")
    pictures = [
        tabbed(figures.breakeven(float(option.value) if option else None, values["value"], values["column"]), "File by zeros"),
        tabbed(figures.picture(lab, case), "The frontier"),
        tabbed(figures.sizes(lab, case), "Size and time"),
    ]
    return kit.View(pictures, cards(case), formula(case), banner(lab, case), kit.html(note(lab, case)), readouts(case))


def cards(case: LlamaCase | DigitCase) -> list[dict[str, Any]]:
    seconds, plain = case.seconds(), case.plain_s
    time = kit.card("Time", seconds, "s", note=f"{_against(plain / seconds, case)}; a lower bound")
    place = kit.text_card("Frontier", "off" if case.winner else "on", note=f"{len(case.best)} of {len(case.points)} versions are on it")
    if isinstance(case, LlamaCase):
        need = case.footprint
        value, low, high = llama.perplexity(case.name)
        return [
            kit.card("File", llama.size(case.name), "B", note=f"{significant(llama.bits(case.name))} bits per weight"),
            kit.card("Memory", float(need.total), "B", tone=kit.tone("memory", float(need.total / need.usable)),
                     note=f"{kit.share(need.total, need.usable)} of {kit.capacity(float(need.usable))}"),
            kit.text_card("Perplexity", significant(value, 4), note=f"95%: {significant(low, 4)} to {significant(high, 4)}"),
            time, place,
        ]  # fmt: skip
    answers = case.setting.answers
    share = answers.accuracy
    interval = f"95%: {significant(100 * share.low)} to {significant(100 * share.high)}%"
    return [
        kit.card("File", case.setting.bytes, "B", note=f"{kit.share(case.setting.bytes, Setting().bytes)} of the full classifier"),
        kit.card("Right answers", 100 * share.value, "%", note=interval),
        kit.text_card("Flipped", str(answers.flips), note=f"of {tested()} answers, compared with the full classifier"),
        time, place,
    ]  # fmt: skip


def _against(speedup: float, case: LlamaCase | DigitCase) -> str:
    """How fast it is beside the plain format."""
    plain = "FP16" if isinstance(case, LlamaCase) else "FP32"
    return f"as fast as {plain}" if significant(speedup) == "1" else f"{significant(speedup)}× as fast as {plain}"


def formula(case: LlamaCase | DigitCase) -> str:
    if isinstance(case, LlamaCase):
        need = case.footprint
        parts = " + ".join(kit.amounts([float(size) for size in (need.weights, need.kv_cache, need.activations)], "B"))
        return line("memory = file + KV cache + live activations =", parts, "=", kit.amount(float(need.total), "B"))
    terms = case.setting.terms(case.machine)
    named = (("memory", terms.data), ("compute", terms.compute), ("overhead", terms.overhead))
    figures = " + ".join(term(name, kit.amount(float(value), "s")) for name, value in named)
    symbols = " + ".join(term(name, SYMBOLS[name]) for name, _ in named)
    return line("<i>T</i> =", symbols, "=", figures, "=", kit.amount(float(terms.sequential), "s"))


def note(lab: kit.Lab, case: LlamaCase | DigitCase) -> str:
    return lab.fill("act2.counted_llama" if isinstance(case, LlamaCase) else "act2.counted_reader")


def readouts(case: LlamaCase | DigitCase) -> dict[str, Any]:
    limit = hit(LIMITS, case)
    shared = {"seconds": case.seconds(), "on_frontier": case.winner is None, "verdict": limit.name, "constraint_hit": limit.tone == "fail"}
    if isinstance(case, LlamaCase):
        row = llama.rows()[case.name]
        return {
            "model": llama.MODEL, "bits": round(llama.bits(case.name), 2), "scheme": case.name, "sparsity": 0, "width": 1.0,
            "bytes": llama.size(case.name), "kl": float(row["kl"]), "accuracy": None, "flips": None, "met": limit.tone == "good", **shared,
        }  # fmt: skip
    setting, answers = case.setting, case.setting.answers
    return {
        "model": "digits", "bits": setting.bits, "scheme": setting.scale, "sparsity": setting.share / 100,
        "width": 1 / reader.WIDTHS[setting.net.removesuffix("_distilled")], "bytes": setting.bytes, "kl": answers.kl,
        "accuracy": round(100 * answers.accuracy.value, 2), "flips": answers.flips, "met": limit.tone == "good", **shared,
    }  # fmt: skip
