"""The parts of an act, each a place on the page: message, lock, instrument, reveal, claims, measuring, reflection, maths.

    lab_parts.lock(lab, "act1")     # what a cell of the page shows

What a page begins with is imported with this file, and what comes later when it is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ironlaw.kit import journey, links, page_host, prose, step
from ironlaw.kit import lock as locks
from ironlaw.kit import message as messages
from ironlaw.kit.frame import go_on, toggle
from ironlaw.kit.instrument import Instrument, Values, View
from ironlaw.kit.lab import Lab, Slots
from ironlaw.kit.picture_caption import captions
from ironlaw.kit.question_sheet import Question
from ironlaw.registry.machines import known_local
from ironlaw.widget.dials import Dial, settle

if TYPE_CHECKING:
    from ironlaw.kit.claim_panel import LocalFigure
    from ironlaw.kit.decide import Verdict
    from ironlaw.kit.goal import Goal
    from ironlaw.kit.measured_run import Measured
    from ironlaw.kit.offer import Offer
    from ironlaw.kit.sealed import Part

LOCKED = "Commit a prediction to unlock."
DECIDE = "Commit your choice to unlock."
AHEAD_S = 2.0  # after what the commit shows is drawn
FIXED = "<span hidden data-fixed></span>"  # the head of an instrument that the context does not change; pages/static/lab.js reads it


def message(lab: Lab, act: str, slots: Slots | None = None, task: Slots | None = None) -> Any:
    """The message, whose last line is the act's task if it sets one."""
    name = f"{act}.message"
    title = f'<h2 class="il-act-title">{prose.inline(lab.words[f"{act}.title"])}</h2>{step.unfold(f"{step.DONE}Done. Show it again")}'
    text: str = lab.words.fill_all([name], slots or {})[name]
    if f"{act}.task" in lab.words:
        text += "\n\n" + lab.words.fill(f"{act}.task", **(task or {}))
    sender = lab.words.sections.get(f"{act}.sender", lab.words["sender"])  # an act may come from somebody else
    return page_host.html(step.step(act, "message", title + messages.message(sender, text)))


def closed(lab: Lab, act: str) -> Any:
    title, why = prose.inline(lab.words[f"{act}.title"]), prose.inline(lab.words[f"{act}.closed"])
    return page_host.html(step.closed(act, title, why))


def lock(lab: Lab, act: str, slots: Slots | None = None, part: Part | None = None) -> Any:
    """`part`: an estimate or a curve that is sealed with the choice."""
    folded = [f"{act}.assumptions"] if f"{act}.assumptions" in lab.words else []  # what the key does not need
    ask, premises, *rest = lab.words.fill_all([f"{act}.question", f"{act}.premises", *folded], slots or {}).values()
    to = lab.progress.after(f"{act}.lock")
    place = to.anchor if to else ""
    piece = locks.lock(lab.question(act), ask, premises, lab.ledger, lab.slug, lambda: _on_commit(lab, act), place, part, "".join(rest))
    return lab.show(act, piece, act, "lock", "Your decision" if lab.question(act).kind == "decision" else "Your prediction")


def _on_commit(lab: Lab, act: str) -> None:
    lab.record.forget()  # there is a newer one
    lab.follow_context()
    for name, instrument in lab.instruments.items():
        if name.partition(".")[0] == act:
            instrument.open()
    lab.changed()


def instrument(
    lab: Lab, act: str, dials: Callable[[Values], Sequence[Dial]], compute: Callable[[Values], View], follows: tuple[str, ...] = (),
    panel: str = "", offers: Callable[[], Sequence[Offer]] = tuple, aim: tuple[Goal, Slots] | None = None,
    fixed: bool = False,
) -> Any:  # fmt: skip
    """Locked until the act's prediction is committed. `follows`: dials that move with the context. `offers`: what earlier labs could give.
    `aim`: its goal, and the task's slots. `fixed`: the context does not change it, so its head offers none.

    An act may have a second one: `panel` is its name, `act.panel.instrument` its title in words.md, `act.panel` its readouts.
    """
    name = f"{act}.{panel}" if panel else act

    def on_readouts(readouts: Mapping[str, Any]) -> None:
        lab.readouts[name] = dict(readouts)
        lab.notify("readouts")

    title = lab.words[f"{name}.instrument"]
    locked = None if lab.prediction(act) else DECIDE if lab.question(act).kind == "decision" else LOCKED
    store, saved = lab.progress.store(name), lab.progress.saved_dials(name)
    task = ""
    if aim is not None:
        from ironlaw.kit.goal import Aim

        goal, slots = aim
        task = prose.inline(lab.words.fill(f"{act}.task", **slots))
        lab.aims[name] = Aim(lab, name, goal, task)
        compute = lab.aims[name].judging(compute, act)
    captioned = captions(lab.words, name, compute)
    made = Instrument(name, title, dials, captioned, store=store, locked=locked, on_readouts=on_readouts, saved=saved, task=task,
                      offers=offers, cases=lambda: cases(lab, name, dials), reason=lab.reasons.get(name))  # fmt: skip
    lab.instruments[name], lab.follows[name] = made, follows
    place = name if panel else f"{act}.instrument"
    first = lab.progress.after(f"{act}.lock")  # a reveal stands under this one, and the way on under that
    apart = any(each.name == place for each in lab.places) and (first is None or first.name != place)
    then = go_on(lab, place) if apart else ""
    own = f"{act}-{panel}" if panel else ""
    return lab.show(f"{name}.instrument", made.piece, act, "instrument", anchor=own, then=then, head=FIXED if fixed else toggle(lab, name))


def cases(lab: Lab, name: str, dials: Callable[[Values], Sequence[Dial]]) -> dict[str, Any]:
    """Where the dials stand in the question's own case: in the context that it is about (`asked`; where it is about none, in whichever is
    chosen), and in each that a sentence of the lab goes to."""
    asked = lab.question(name.partition(".")[0]).context
    dials_in: dict[str, dict[str, Any]] = {}
    for slug in {asked, *links.contexts(lab.words.sections.values(), name)}:
        with lab.standing_in(slug):
            dials_in[slug] = settle(dials({}), {})[0]
    return {"asked": asked, "dials": dials_in}


def reveal(lab: Lab, act: str, truth: str, distance: str, slots: Slots | None = None) -> Any:
    """`truth` and `distance` are inline HTML; the words are the act's own. Those of the chosen option are the reason on its instrument."""
    from ironlaw.kit import reveal as reveals

    option = lab.choice(act)
    if option is None:
        return None
    options = lab.question(act).options
    names = [*(f"{act}.feedback.{o.id}" for o in options), f"{act}.reveal"]
    texts = lab.words.fill_all(names, slots or {}, {o.id: prose.inline(o.label) for o in options})
    kind, event = lab.question(act).kind, lab.prediction(act)
    right = bool(event is not None and event.payload["correct"])
    again = event is not None and event.attempt > lab.question(act).answers(lab.ledger.attempts(lab.slug, act))[0].attempt
    guess = prose.inline(option.label)
    lab.explain(act, reveals.reason(guess, texts[f"{act}.feedback.{option.id}"], right, kind, again), right)
    text = reveals.reveal(guess, truth, distance, texts[f"{act}.reveal"], right, kind, again)
    to = lab.progress.after(f"{act}.lock")
    return page_host.html(step.step(act, "reveal", text + (go_on(lab, to.name) if to else ""), "Reveal"))


def claims(lab: Lab, act: str, names: Sequence[str], local: Mapping[str, LocalFigure] | None = None) -> Any:
    """`local`: claim -> the figure of the learner's own machine, where the act has experiments; the button to go on is then below them."""
    from ironlaw.kit import claim_panel as claim_panels

    then = "" if local is not None else go_on(lab, f"{act}.claims")
    title = journey.CLAIMS[claim_panels.any_measured(names)]
    return page_host.html(step.step(act, "claims", claim_panels.panel(names, local) + then, title))


def reflect(lab: Lab, act: str, slots: Slots | None = None) -> Any:
    from ironlaw.kit import reflect as reflections

    name = f"{act}_reflection"
    question = lab.question(name)
    texts = lab.words.fill_all([f"{name}.question", *_feedback(question).values()], slots or {})
    feedback = {option: texts[section] for option, section in _feedback(question).items()}
    piece = reflections.reflect(question, texts[f"{name}.question"], feedback, lab.ledger, lab.slug, lab.changed)
    after = any(q.kind == "blank" and q.name.startswith(f"{act}_") for q in lab.questions.values())
    return lab.show(name, piece, act, "reflect", "Reflection", anchor=name.replace("_", "-") if after else "")


def _feedback(question: Question) -> dict[str, str]:
    """Option -> the section that answers it."""
    return {option.id: f"{question.name}.feedback.{option.id}" for option in question.options}


def blanks(lab: Lab, act: str, names: Sequence[str], slots: Slots | None = None) -> Any:
    """A sentence (`act.blanks`) whose blanks are the questions of these names; `name.question` stands before each."""
    from ironlaw.kit import blanks as sentences

    questions = [lab.question(name) for name in names]
    sections = [f"{act}.blanks", *(f"{name}.question" for name in names), *(s for q in questions for s in _feedback(q).values())]
    texts = lab.words.fill_all(sections, slots or {})
    feedback = {q.name: {option: texts[section] for option, section in _feedback(q).items()} for q in questions}
    labels = [texts[f"{name}.question"] for name in names]
    piece = sentences.blanks(questions, texts[f"{act}.blanks"], labels, feedback, lab.ledger, lab.slug, lab.changed)
    return lab.show(names[0], piece, act, "reflect", "Reflection")


def challenge(lab: Lab, act: str, part: str, slots: Slots, feedback: Callable[[float, bool], str]) -> Any:
    """A number to commit; `feedback(value, right)` is Markdown, called only then."""
    from ironlaw.kit import challenge as challenges

    name = f"{act}_{part}"
    ask = lab.words.fill_all([f"{name}.question"], slots)[f"{name}.question"]
    piece = challenges.challenge(lab.question(name), ask, feedback, lab.ledger, lab.slug, lab.changed)
    return lab.show(name, piece, act, part, "Challenge", then=go_on(lab, f"{act}.{part}"))


def decide(lab: Lab, act: str, judge: Callable[[Values], Verdict]) -> Any:
    """The button under an act's instrument that commits the design on its dials."""
    from ironlaw.kit import decide as decisions

    piece = decisions.decide(act, lab.ledger, lab.slug, lambda: lab.instruments[act].values, judge, lab.changed)
    return lab.show(f"{act}.decide", piece, act, "decide", "Your design")


def hint(lab: Lab, act: str) -> Any:
    """Help under the instrument that has the act's goal, in three rungs. The ledger keeps which were asked for."""
    from ironlaw.kit import hint as hints

    aim = next(aim for name, aim in lab.aims.items() if name.partition(".")[0] == act)
    if aim.goal.ahead:
        from ironlaw.kit import background

        background.begin(f"{lab.slug}.{act}.hint", partial(hints.prepare, aim), after=AHEAD_S)
    return lab.show(f"{act}.hint", hints.hint(aim, lab.changed), act, "hint", "Stuck?")


def peek(lab: Lab, act: str, slots: Slots | None = None) -> Any:
    from ironlaw.kit import peek as peeks

    body = lab.words.fill_all([f"{act}.peek"], slots or {})[f"{act}.peek"]
    return page_host.html(step.step(act, "peek", peeks.peek("The maths", body) + go_on(lab, f"{act}.peek"), "Why"))


def measuring(lab: Lab, act: str, captions: Mapping[str, Callable[[Measured], str]]) -> Any:
    """`captions`: experiment -> what to say about a result, as Markdown. This machine itself is offered until it is measured,
    where the lab is about devices."""
    from ironlaw.kit import experiment  # brings every experiment

    items: list[experiment.Item | experiment.Machine] = [experiment.Item(name, caption) for name, caption in captions.items()]
    if lab.could_meet_this_machine and known_local() is None:
        items.append(experiment.Machine(lambda: known_local() is not None))
    if not items:
        return page_host.html(step.step(act, "measure", go_on(lab, f"{act}.claims")))
    runs = lab.experiments
    piece = experiment.measure(act, items, runs.local_run, runs.keep, lambda: _on_run_end(lab), lambda: lab.prediction(act) is not None)
    return lab.show(f"{act}.measure", piece, act, "measure", "Measure it here", then=go_on(lab, f"{act}.claims"))


def _on_run_end(lab: Lab) -> None:
    """A run has ended: draw it on the instruments, tell the cells that name the state "measured", and the other acts' pieces."""
    if lab.experiments.are_known:
        return
    lab.experiments.recall()
    lab.meet_this_machine()
    for instrument in lab.instruments.values():
        if not instrument.piece.spec.get("locked"):
            instrument.piece.refresh()
    for name, element in lab.elements.items():
        if name.endswith(".measure"):
            element.widget.refresh()
    lab.notify("measured")
