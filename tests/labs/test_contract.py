"""What holds of every act with limits and of every dial, whichever the lab. What a lab has to say for it stands in ACTS."""

from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import pytest
from headless import Page, turned

from ironlaw.kit.lab_check import complete
from ironlaw.ledger import open_ledger


@dataclass(frozen=True)
class Act:
    """`sides`: limit -> dials that hit it, and dials that do not; `where` among them is the lab's toggle. `bases`: settings, in one of
    which each dial shows. `limits`: the module with the act's LIMITS. `elsewhere`: dials that the lab's own tests turn."""

    slug: str
    act: str
    limits: str = ""
    sides: dict[str, tuple[dict[str, Any], dict[str, Any]]] = field(default_factory=dict)
    bases: tuple[dict[str, Any], ...] = ({},)
    where: str = ""
    seen: tuple[str, ...] = ("figures", "cards", "formula")  # where a dial's turn shows
    elsewhere: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.slug} {self.act}"

    @property
    def declared(self) -> tuple[Any, ...]:
        return tuple(import_module(f"ironlaw.labs.{self.slug}.{self.limits}").LIMITS)


H200, ORIN = "h200_sxm", "orin_nx_16gb"
ACTS = [
    Act(
        "lab_08_ledger", "act2", "act2.banners",
        {
            "static": ({"model": "llama3_8b"}, {"model": "gpt2"}), "kept": ({}, {"recompute": "every"}),
            "head": ({"recompute": "every"}, {"recompute": "every", "chunks": 8}),
            "idle": ({"model": "gpt2", "recompute": "every"}, {"model": "gpt2"}),
            "vanish": ({"recipe": "pure", "batch": 1, "chunks": 8}, {"recipe": "mixed", "batch": 1, "chunks": 8}),
            "works": ({"recompute": "every", "chunks": 8}, {"recompute": "every", "chunks": 8, "batch": 64}),
        },
        (
            {"recompute": "some", "zero": 1}, {"model": "gpt2"}, {"model": "bert_base"},
        ),
    ),
    Act("lab_08_ledger", "act1", bases=({}, {"model": "llama3_2_1b"}, {"model": "bert_base"})),
    Act("lab_10_frontier", "act1"),
    Act(
        "lab_12_amdahl", "act2", "act2.verdict",
        {
            "out_of_reach": ({}, {"weeks": 1}), "too_few": ({"weeks": 1, "workers": 20}, {"weeks": 1, "workers": 34}),
            "waiting": ({"weeks": 1}, {"weeks": 2, "workers": 18}), "good": ({"weeks": 2, "workers": 18}, {"weeks": 1, "workers": 18}),
            "not_worth": ({"weeks": 1, "workers": 500}, {"weeks": 1, "workers": 64}),
            "backwards": ({"weeks": 3, "workers": 64, "kappa": 1.0}, {"weeks": 3, "workers": 64}),
        },
        ({"weeks": 1}, {"weeks": 1, "known": "share"}),
        seen=("cards", "banner"),
    ),
    Act(
        "lab_10_frontier", "act2", "act2.banners",
        {
            "oom": ({"where": "a17_npu"}, {}), "floor": ({"most_ppl": 6}, {"most_ppl": 7}),
            "slower": ({"row": "Q8_0", "kernel": "unpack"}, {"row": "Q8_0"}),
            "late": ({"limit_ms": 1}, {}),
            "dominated": ({}, {"row": "IQ4_XS, imatrix"}), "good": ({"row": "IQ4_XS, imatrix"}, {}),
            "unsure": ({"row": "Q4_K_M, imatrix", "most_ppl": 6.38}, {"row": "Q4_K_M, imatrix", "most_ppl": 7}),
        },
        ({}, {"data": "digits", "share": 50}),
        H200,
        ("figures", "cards", "formula", "banner"),
    ),
    Act(
        "lab_11_roofline", "act2", "act2.instrument",
        {
            "oom": ({"device": ORIN}, {}), "tight": ({"batch": 256}, {"batch": 8}), "fits": ({}, {"device": ORIN}),
        },
        ({"device": H200},),
        "h100_sxm",
    ),
    Act("lab_12_amdahl", "act1", elsewhere=("stage",)),
    Act(
        "lab_13_line", "act2", "act2.verdict",
        {
            "does_not_fit": (
                {"where": ORIN, "model": "llama3_2_1b", "most": 256, "target": 500},
                {"where": ORIN, "model": "llama3_2_1b", "most": 64, "target": 500},
            ),
            "never": ({"target": 2}, {"target": 20}), "line_without_end": ({"rate": 50_000}, {"rate": 10_000}),
            "too_late": ({"rate": 100, "policy": "fixed"}, {"rate": 10_000, "policy": "fixed"}),
            "waiting_for_nothing": (
                {"rate": 1_000, "policy": "timeout", "timeout": 10},
                {"rate": 1_000, "policy": "timeout", "timeout": 0},
            ),
            "works": ({}, {"rate": 90_000}),
        },
        ({"policy": "timeout", "replicas": 2, "rate": 3_000},),
        H200,
    ),
    Act("lab_13_line", "act1", bases=({"arrivals": "bursts", "service": "lognormal", "window": "cut", "requests": 100, "servers": 20},)),
    Act(
        "lab_14_tail", "act1", "act1.instrument",
        {
            "misses": ({}, {"connections": 64}), "agrees": ({"connections": 64}, {}), "unseen": ({"n": 300}, {"n": 10_000}),
            "endless": ({"work": "own", "service": 20}, {"work": "own", "service": 1}),
            "too_much": (
                {"connections": 8, "corrected": True, "stopped": 2, "period": 60},
                {"connections": 8, "corrected": False, "stopped": 2, "period": 60},
            ),
        },
        ({"work": "own"},),
    ),
    Act(
        "lab_14_tail", "act2", "act2.verdicts",
        {
            "stuck": ({"hedge": "all", "rho": 50, "k": 5, "n": 3_000}, {"hedge": "all", "rho": 49, "k": 5, "n": 3_000}),
            "unknown": ({"hedge": "off", "rho": 30, "k": 100, "n": 3_000}, {"hedge": "off", "rho": 30, "k": 5, "n": 3_000}),
            "late": ({"hedge": "off", "rho": 30, "k": 5, "n": 3_000, "target": 20}, {"hedge": "off", "rho": 30, "k": 5, "n": 3_000}),
            "wasted": (
                {"hedge": "budget", "budget": 1, "rho": 60, "k": 5, "n": 3_000, "target": 2000},
                {"hedge": "called_back", "rho": 60, "k": 5, "n": 3_000, "target": 2000},
            ),
            "works": ({"hedge": "all", "rho": 40, "k": 5, "n": 3_000}, {"hedge": "all", "rho": 40, "k": 5, "n": 3_000, "target": 20}),
        },
        ({"hedge": "budget", "rho": 60, "k": 5, "n": 3_000},),
    ),
    Act(
        "lab_15_parity", "act1", "act1.verdicts",
        {
            "two_rays": ({"where": "made_up", "ppv": 30}, {"where": "made_up", "ppv": 99}),
            "one_ray": (
                {"where": "made_up", "base_a": 20, "base_b": 20, "ppv": 30},
                {"where": "made_up", "base_a": 21, "base_b": 20, "ppv": 30},
            ),
            "off_curve": ({"where": "made_up", "ppv": 99}, {"where": "made_up", "ppv": 60}),
            "perfect": (
                {"where": "made_up", "separation": 6, "ppv": 100, "base_a": 40, "base_b": 30},
                {"where": "made_up", "separation": 6, "ppv": 99, "base_a": 40, "base_b": 30},
            ),
        },
        tuple({"linked": "each", "where": slug} for slug in ("made_up", "compas", "credit")),
    ),
    Act(
        "lab_15_parity", "act2", "act2.verdicts",
        {
            "impossible": ({"rule": "equal_odds", "within": 2, "floor": 40}, {"rule": "equal_odds", "within": 20, "floor": 10}),
            "below_floor": ({"rule": "equal_selection"}, {"rule": "equal_selection", "keep": 70}),
            "four_fifths": ({}, {"rule": "equal_selection"}),
            "too_far": ({"rule": "equal_selection", "keep": 70}, {"rule": "equal_selection", "keep": 75}),
            "cant_tell": ({"rule": "equal_selection", "keep": 70, "within": 39}, {"rule": "equal_selection", "keep": 70, "within": 37}),
            "good": ({"rule": "equal_selection", "keep": 70, "within": 40}, {"rule": "equal_selection", "keep": 70, "within": 39}),
        },
        elsewhere=("why",),
        seen=("cards", "banner"),
    ),
]  # fmt: skip
LIMITED = [(act, limit) for act in ACTS if act.limits for limit in act.declared]


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Slug -> the lab with every act open; nothing here reaches the ledger but the context."""
    opened: dict[str, Page] = {}
    ledgers = []

    def of(slug: str) -> Page:
        if slug not in opened:
            ledger = open_ledger(tmp_path_factory.mktemp(slug) / "ledger.db").__enter__()
            ledgers.append(ledger)
            complete(Page(ledger, slug).lab)
            opened[slug] = Page(ledger, slug)
        return opened[slug]

    yield of
    for ledger in ledgers:
        ledger.__exit__(None, None, None)


def at(page: Page, act: Act, dials: dict[str, Any]) -> dict[str, Any]:
    context = dials.get("where") or act.where
    if context and page.lab.current_context.slug != context:
        page.send("context", value=context)
        page.reload()
    return turned(page, act.act, **{name: value for name, value in dials.items() if name != "where"})


@pytest.mark.parametrize("act", [act for act in ACTS if act.limits], ids=lambda act: act.name)
def test_every_limit_has_its_two_sides(act):
    assert set(act.sides) == {limit.name for limit in act.declared} and act.declared[-1].hit(None)


@pytest.mark.parametrize(("act", "limit"), LIMITED, ids=[f"{act.name} {limit.name}" for act, limit in LIMITED])
def test_every_limit_is_reached_from_both_sides(pages, act, limit):
    page, (there, away) = pages(act.slug), act.sides[limit.name]
    shown = at(page, act, there)["banner"]
    assert (shown["tone"], shown["title"]) == (limit.tone, limit.title)
    readouts = page.lab.readouts[act.act]
    assert bool(readouts.get("constraint_hit")) == (limit.tone == "fail" and "constraint_hit" in readouts)
    section = f"{act.act}.{limit.name}"
    named = [name for name in page.lab.words.sections if name == section or name.startswith(f"{section}_")]
    assert any(page.shows(name, shown["text"]) for name in named) and "{{" not in shown["text"]
    assert at(page, act, away)["banner"]["title"] != limit.title


def other_values(dial: dict[str, Any]) -> list[Any]:
    """Where else a dial can stand."""
    if dial["type"] == "switch":
        return [not dial["value"]]
    if "options" in dial:
        return [option["value"] for option in dial["options"] if not option["disabled"] and option["value"] != dial["value"]]
    ends = [dial["min"], dial["max"], *dial.get("presets", ()), *dial.get("steps", ())]
    return [value for value in dict.fromkeys(ends) if value != dial["value"]]


@pytest.mark.parametrize("act", ACTS, ids=lambda act: act.name)
def test_every_dial_changes_what_is_seen(pages, act):
    page, turned_so_far = pages(act.slug), set()
    for base in act.bases:
        still = at(page, act, base)
        before = {part: str(still[part]) for part in act.seen}
        piece = page.piece(f"{act.act}.instrument")
        stand = dict(piece.state["dials"])
        for dial in piece.spec["dials"]:
            name = dial["id"]
            now = {**dial, **still["dials"].get(name, {}), "value": stand[name]}
            if now.get("hidden") or name in turned_so_far or name in act.elsewhere:
                continue
            views = (at(page, act, {**base, name: value}) for value in other_values(now))
            assert any({part: str(view[part]) for part in before} != before for view in views), name
            turned_so_far.add(name)
    assert turned_so_far | set(act.elsewhere) == {dial["id"] for dial in page.piece(f"{act.act}.instrument").spec["dials"]}
