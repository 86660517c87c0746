"""What each lab has to say for the contract that all of them keep (test_contract.py): Volume I here, Volume II in acts_v2.py."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib import import_module
from types import ModuleType
from typing import Any

Dials = dict[str, Any]


@dataclass(frozen=True)
class Act:
    """`sides`: limit -> dials that hit it, and dials that do not; `toggle` among them is the lab's context. `limits`: the module with the
    act's LIMITS. `bases`: settings, in one of which each dial shows. `elsewhere`: dials that the lab's own tests turn. `after`: the tones
    that a proposed fix leads to; none where it only has to leave the limit that was hit. `still`: figures whose axes do not move, and
    settings between which they don't."""

    act: str
    limits: str = ""
    sides: dict[str, tuple[Dials, Dials]] = field(default_factory=dict)
    bases: tuple[Dials, ...] = ({},)
    where: str = ""
    seen: tuple[str, ...] = ("figures", "cards", "formula")  # where a dial's turn shows
    elsewhere: tuple[str, ...] = ()
    after: tuple[str, ...] = ("good",)
    still: tuple[tuple[str, ...], tuple[Dials, ...]] = ((), ())
    slug: str = ""  # of the lab that has it

    @property
    def name(self) -> str:
        return f"{self.slug} {self.act}"

    @property
    def module(self) -> ModuleType:
        return import_module(f"ironlaw.labs.{self.slug}.{self.limits}")

    @property
    def declared(self) -> tuple[Any, ...]:
        return tuple(self.module.LIMITS) if self.limits else ()


@dataclass(frozen=True)
class Lab:
    """`keys`: the right options. `sealed`: what the page must not say before the first prediction, the options aside; `unsaid`: what its
    header, message and premises must not."""

    slug: str
    keys: str
    sealed: tuple[str, ...]
    acts: tuple[Act, ...] = ()
    unsaid: tuple[str, ...] = ()


def both(there: Dials, *away: str | Dials) -> tuple[Dials, Dials]:
    """Two sides that differ in some dials: `away` are those to leave at their start, or where else they stand."""
    other = {name: value for name, value in there.items() if name not in away}
    for change in away:
        other |= change if isinstance(change, dict) else {}
    return there, other


def acts(labs: Iterable[Lab]) -> list[Act]:
    from dataclasses import replace

    return [replace(act, slug=lab.slug) for lab in labs for act in lab.acts]


H200, ORIN, M7 = "h200_sxm", "orin_nx_16gb", "cortex_m7"
TINY = {"device": M7, "dtype": "int8", "workload": "dscnn_kws"}
CALL = {"rho": 30, "k": 5, "n": 3_000}
MADE_UP = {"toggle": "made_up"}
VOLUME_1 = (
    Lab(
        "lab_01_magnitude", "e6 tuning memory memory", ("989", "million", "six orders", "GHz", "MHz", "TFLOP", "KiB", " GB"),
        (
            Act("act1"),
            Act(
                "act2", "act2.instrument",
                {
                    "oom": ({"device": M7, "dtype": "int8"}, {}), "fits": ({}, {"device": M7, "dtype": "int8"}),
                    "tight": ({**TINY, "batch": 28}, {**TINY, "batch": 1}),
                },
            ),
            Act("act2.walk", seen=("figures",), still=(("trip",), ({"progress": 0}, {"progress": 50}))),
        ),
    ),
    Lab(
        "lab_07_fusion", "p33 share e5 nothing",
        ("33.3", "33%", "third", "one in three", "50.0", "98%", "133,60", "134,", "2,334", "23.3", "launch-bound"),
        (
            Act(
                "act1",
                bases=tuple({"mode": "compiled", "model": model} for model in ("kws", "resnet50", "gpt2_layer", "graph:dscnn_kws",
                                                                               "graph:resnet50", "graph:gpt2")),
            ),
            Act(
                "act2.roi", "act2.payback_panel",
                {
                    "pays": ({}, {"volume": 100}), "forgone": both({"decision": "eager"}, "decision"),
                    "fails": both({"volume": 10_000, "span": "7"}, "span"),
                    "fails_once": both({"span": "run"}, "span"), "stays": both({"volume": 100, "decision": "eager"}, "volume"),
                },
                ({"span": "other"},), seen=("figures", "banner", "cards"),
            ),
            Act("act2", bases=({}, {"fusion": True})),
            Act("act2.attention", seen=("figures",)),
        ),
    ),
    Lab(
        "lab_08_ledger", "x30 unchanged checkpoint none",
        ("30.0", "30×", "30×", "14.9", "10.2 GB", "8.51", "sixteen bytes", "twenty", "46.8", "14.2 GB"),
        (
            Act(
                "act2", "act2.banners",
                {
                    "static": ({"model": "llama3_8b"}, {"model": "gpt2"}), "kept": ({}, {"recompute": "every"}),
                    "head": ({"recompute": "every"}, {"recompute": "every", "chunks": 8}),
                    "idle": ({"model": "gpt2", "recompute": "every"}, {"model": "gpt2"}),
                    "vanish": ({"recipe": "pure", "batch": 1, "chunks": 8}, {"recipe": "mixed", "batch": 1, "chunks": 8}),
                    "works": ({"recompute": "every", "chunks": 8}, {"recompute": "every", "chunks": 8, "batch": 64}),
                },
                ({"recompute": "some", "zero": 1}, {"model": "gpt2"}, {"model": "bert_base"}),
            ),
            Act("act1", bases=({}, {"model": "llama3_2_1b"}, {"model": "bert_base"})),
        ),
    ),
    Lab(
        "lab_10_frontier", "guessing nothing p80 p56", (),
        (
            Act("act1"),
            Act(
                "act2", "act2.banners",
                {
                    "oom": ({"toggle": "a17_npu"}, {}), "floor": ({"most_ppl": 6}, {"most_ppl": 7}),
                    "slower": ({"row": "Q8_0", "kernel": "unpack"}, {"row": "Q8_0"}), "late": ({"limit_ms": 1}, {}),
                    "dominated": ({}, {"row": "IQ4_XS, imatrix"}), "good": ({"row": "IQ4_XS, imatrix"}, {}),
                    "unsure": ({"row": "Q4_K_M, imatrix", "most_ppl": 6.38}, {"row": "Q4_K_M, imatrix", "most_ppl": 7}),
                },
                ({}, {"data": "digits", "share": 50}), H200, ("figures", "cards", "formula", "banner"),
            ),
        ),
        ("10.2", "guess", "chance", "each channel", "misconception"),
    ),
    Lab(
        "lab_11_roofline", "memory reuse split traffic", (),
        (
            Act(
                "act1", bases=({"shape": "apart", "m": 64},), where="h100_sxm", seen=("figures", "cards"), elsewhere=("pins", "here"),
                still=(("roofs",), tuple({"n": n} for n in (128, 886, 8192))),
            ),
            Act(
                "act2", "act2.instrument",
                {"oom": ({"device": ORIN}, {}), "tight": ({"batch": 256}, {"batch": 8}), "fits": ({}, {"device": ORIN})},
                ({"device": H200},), "h100_sxm",
                still=(("layer",), ({"batch": 1}, {"batch": 256}, {"context": 256}, {"context": 9000})),
            ),
        ),
        ("memory-bound", "compute-bound", "85.3", "295", "117", "TB/s", "GB/s", "starved", "FLOP/B", "misconception"),
    ),
    Lab(
        "lab_12_amdahl", "x1 x1_25 x8 overhead", (),
        (
            Act(
                "act2", "act2.verdict",
                {
                    "out_of_reach": ({}, {"weeks": 1}), "too_few": ({"weeks": 1, "workers": 20}, {"weeks": 1, "workers": 34}),
                    "waiting": ({"weeks": 1}, {"weeks": 2, "workers": 18}),
                    "good": ({"weeks": 2, "workers": 18}, {"weeks": 1, "workers": 18}),
                    "not_worth": ({"weeks": 1, "workers": 500}, {"weeks": 1, "workers": 64}),
                    "backwards": ({"weeks": 3, "workers": 64, "kappa": 1.0}, {"weeks": 3, "workers": 64}),
                },
                ({"weeks": 1}, {"weeks": 1, "known": "share"}), seen=("cards", "banner"),
                still=(("scaling",), ({}, {"workers": 128, "kappa": 10.0}, {"workers": 1, "weeks": 8, "price": 10})),
            ),
            Act("act1", elsewhere=("stage",), still=(("growing",), tuple({"factor": n} for n in (1, 7, 1000)))),
        ),
        ("9.14", "91", "10.9", "14.6", "8.86", "1/9", "11.1", "9×", "1.1 "),
    ),
    Lab(
        "lab_13_line", "w same x1 six", ("24 s, ", "7.06", "18,0", "5.5%", "2,880", "Mean time, W", "capacity"),
        (
            Act(
                "act2", "act2.verdict",
                {
                    "does_not_fit": both({"toggle": ORIN, "model": "llama3_2_1b", "most": 256, "target": 500}, {"most": 64}),
                    "never": ({"target": 2}, {"target": 20}), "line_without_end": ({"rate": 50_000}, {"rate": 10_000}),
                    "too_late": ({"rate": 100, "policy": "fixed"}, {"rate": 10_000, "policy": "fixed"}),
                    "waiting_for_nothing": both({"rate": 1_000, "policy": "timeout", "timeout": 10}, {"timeout": 0}),
                    "works": ({}, {"rate": 90_000}),
                },
                ({"policy": "timeout", "replicas": 2, "rate": 3_000},), H200, after=("good", "warn"),
            ),
            Act(
                "act1", bases=({"arrivals": "bursts", "service": "lognormal", "window": "cut", "requests": 100, "servers": 20},),
            ),
        ),
    ),
    Lab(
        "lab_14_tail", "ms900 above stuck p9999", (),
        (
            Act(
                "act1", "act1.instrument",
                {
                    "misses": ({}, {"connections": 64}), "agrees": ({"connections": 64}, {}), "unseen": ({"n": 300}, {"n": 10_000}),
                    "endless": ({"work": "own", "service": 20}, {"work": "own", "service": 1}),
                    "too_much": both({"connections": 8, "corrected": True, "stopped": 2, "period": 60}, {"corrected": False}),
                },
                ({"work": "own"},),
            ),
            Act(
                "act2", "act2.verdicts",
                {
                    "stuck": both({**CALL, "hedge": "all", "rho": 50}, {"rho": 49}),
                    "unknown": both({**CALL, "hedge": "off", "k": 100}, {"k": 5}),
                    "late": both({**CALL, "hedge": "off", "target": 20}, "target"),
                    "wasted": both(
                        {**CALL, "hedge": "budget", "budget": 20, "quantile": 75, "rho": 70, "target": 2000}, {"hedge": "called_back"}
                    ),
                    "works": both({**CALL, "hedge": "all", "rho": 40}, {"target": 20}),
                },
                ({"hedge": "budget", "rho": 60, "k": 5, "n": 3_000},),
            ),
        ),
        ("911", "900", "omission", "63", "stuck", "P99.99", "budget"),
    ),
    Lab(
        "lab_15_parity", "four more_in_a selection worst", (),
        (
            Act(
                "act1", "act1.verdicts",
                {
                    "two_rays": both({**MADE_UP, "ppv": 30}, {"ppv": 99}), "off_curve": both({**MADE_UP, "ppv": 99}, {"ppv": 60}),
                    "one_ray": both({**MADE_UP, "base_a": 20, "base_b": 20, "ppv": 30}, {"base_a": 21}),
                    "perfect": both({**MADE_UP, "separation": 6, "ppv": 100, "base_a": 40, "base_b": 30}, {"ppv": 99}),
                },
                ({}, *({"linked": "each", "toggle": slug} for slug in ("made_up", "compas", "credit"))),
            ),
            Act(
                "act2", "act2.verdicts",
                {
                    "too_few": both({"rule": "equal_ppv"}, {"floor": 6}), "too_far": both({"rule": "one_threshold"}, {"within": 28}),
                    "below_floor": ({}, {"window": 7}), "cant_tell": both({"window": 10}, {"window": 7}),
                    "good": both({"window": 7}, {"keep": 97}),
                },
                elsewhere=("why",), seen=("cards", "banner"),
            ),
        ),
        ("3.9", "3.86", "44.8", "23.5", "63", "odds", "92.9", "80.4", "70.5"),
    ),
)  # fmt: skip
