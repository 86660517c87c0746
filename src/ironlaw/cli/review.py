"""`ironlaw review`: the cards that are due, one after another, and what the ledger says about them."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ironlaw.cli.options import Parser, add_json, size
from ironlaw.cli.show import draw
from ironlaw.errors import BadValue, unknown

if TYPE_CHECKING:
    from ironlaw.outputs.review_output import ReviewCard, ReviewStatsJson

if TYPE_CHECKING:  # the cards compute with the whole engine; --help need not wait for it
    from ironlaw.recall.review_session import State

EXAMPLE = """
ironlaw review --list --topic fusion
ironlaw review --stats --json
"""
NEW = 10  # cards never answered that one sitting brings


def add(parser: Parser) -> None:
    parser.usage = "\n".join(
        f"ironlaw review {act}" for act in ("[--topic TOPIC] [--new N] [--seed N]", "--list [--topic TOPIC] [--json]", "--stats [--json]")
    )
    parser.add_argument("--topic", metavar="TOPIC", help="only cards on this topic; `--list` names the topics")
    parser.add_argument("--new", metavar="N", type=size, help=f"at most N cards you have never answered (default {NEW})")
    parser.add_argument("--seed", metavar="N", type=size, help="seed of the figures, to get the same questions again")
    parser.add_argument("--list", action="store_true", help="every card: topic, kind, when it is due")
    parser.add_argument("--stats", action="store_true", help="your calibration, Brier score, misconceptions and mastery")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    from ironlaw.ledger import open_ledger
    from ironlaw.recall.card_templates import topics
    from ironlaw.recall.review_session import Session, state

    if args.list and args.stats:
        raise BadValue("--list and --stats can't be combined; give one of them")
    if args.json and not (args.list or args.stats):
        raise BadValue("--json needs --list or --stats; cards are answered in the terminal")
    if args.stats and args.topic:
        raise BadValue("--stats covers all topics; leave --topic out")
    if args.topic is not None and args.topic not in topics():
        raise unknown("topic", args.topic, topics())
    with open_ledger() as ledger:
        if args.list or args.stats:
            _print(args, state(ledger, clock()))
            return 0
        from ironlaw.cli.show.review_text import sit

        sit(Session(ledger, clock, args.topic, args.new or NEW, args.seed))
    return 0


def _print(args: argparse.Namespace, state: State) -> None:
    if args.list:
        rows = listing(state, args.topic)
        draw.emit({"cards": rows}, "ironlaw-review-list/1") if args.json else show_list(rows)
    else:
        figures = stats(state)
        draw.emit(figures, "ironlaw-review-stats/1") if args.json else show_stats(figures)


def clock() -> datetime:
    return datetime.now(UTC)


def listing(state: State, topic: str | None) -> list[ReviewCard]:
    """Every card, first those that are to be answered now, in their order."""
    from ironlaw.recall.card_templates import templates

    reasons = {card.template.id: card.reason for card in state.due(topic)}
    chosen = [name for name, template in templates().items() if topic in (None, template.topic)]
    rows: list[ReviewCard] = []
    for name in sorted(chosen, key=lambda name: list(reasons).index(name) if name in reasons else len(reasons)):
        template, stands = templates()[name], state.standing[name]
        rows.append({
            "card": name, "topic": template.topic, "concept": template.concept, "lab": template.lab, "kind": template.kind,
            "answers": len(stands.reviews), "right": sum(review.correct for review in stands.reviews), "now": reasons.get(name),
            "due": stands.due.isoformat() if stands.due else None, "retrievability": stands.retrievability,
        })  # fmt: skip
    return rows


def stats(state: State) -> ReviewStatsJson:
    from ironlaw.recall import beliefs, checklist, concepts, confidence, record

    map_, mastery = concepts.concept_map(), state.mastery
    ticks = record.ticks(state.events)
    points = checklist.score(ticks)
    band = checklist.band(points)
    return {
        "answers": len(state.reviews),
        "predictions": len(state.predictions),
        "calibration": [
            {"confidence": row.confidence, "stated": row.stated, "answers": row.answers, "right": row.right, "share": row.share}
            for row in confidence.table(state.answers)
        ],
        "brier": confidence.brier(state.answers),
        "held": [
            {"belief": one.belief, "says": one.says, "times": one.times, "last": one.last.isoformat(), "where": list(one.where),
             "counterexample": beliefs.counterexample(one.belief).text}
            for one in state.held_beliefs
        ],
        "mastery": [
            {"concept": name, "label": map_.concepts[name].label, "cards": len(map_.concepts[name].cards), "mastery": value}
            for name, value in mastery.items()
        ],
        "checklist": [
            {"statement": one.statement.id, "says": one.statement.says, "ticked": one.ticked, "record": one.mastery, "gap": one.gap,
             "cards": list(one.statement.cards)}
            for one in state.claims
        ],
        "score": {
            "points": points, "of": len(checklist.sheet().statements), "begun": bool(ticks), "label": band.label, "action": band.action,
            "weak": [map_.concepts[name].label for name in checklist.weak_concepts(state.claims)],
        },
        "due": len([card for card in state.due() if card.standing.due]),
    }  # fmt: skip


def show_list(rows: Sequence[Mapping[str, Any]]) -> None:
    draw.heading("Cards", f"{len(rows)}, {sum(row['now'] is not None and row['due'] is not None for row in rows)} due")
    shown = [
        (row["card"], row["topic"], row["kind"], f"{row['right']} of {row['answers']}" if row["answers"] else "–", _when(row))
        for row in rows
    ]
    draw.table(["card", "topic", "kind", "right", "due (UTC)"], shown, left=("topic", "kind", "due (UTC)"), text=("card",))


def show_stats(figures: Mapping[str, Any]) -> None:
    from ironlaw.recall.card_words import amount

    labs = amount(figures["predictions"], "prediction")
    draw.heading("The review", f"{amount(figures['answers'], 'answer')}, {labs} in labs, {amount(figures['due'], 'card')} due")
    if figures["brier"] is None:
        draw.say("No answers yet: `ironlaw review` asks the first cards.")
    else:
        rows = [
            (f"{row['confidence']}", draw.percent(row["stated"]), str(row["answers"]), "–" if row["share"] is None else
             draw.percent(row["share"])) for row in figures["calibration"]
        ]  # fmt: skip
        draw.table(["confidence", "stands for", "answers", "were right"], rows)
        draw.say(f"Brier score {figures['brier']:.3f} (0 is sure and right, 0.25 says one half to everything, 1 is sure and wrong).")
    if figures["held"]:
        draw.heading("Misconceptions held", "chosen with a confidence of 4 or 5")
        for one in figures["held"]:
            draw.pairs([("belief", (one["says"], draw.BAD)), ("but", one["counterexample"]), ("seen in", ", ".join(one["where"]))])
    known = [row for row in figures["mastery"] if row["mastery"]]
    if known:
        rest = sum(bool(row["cards"]) for row in figures["mastery"]) - len(known)
        draw.heading("Mastery", "retrievability × correctness of the last three answers, mean over cards")
        draw.table(["concept", "cards", "mastery"], [(row["label"], str(row["cards"]), draw.percent(row["mastery"])) for row in known],
                   left=("concept",))  # fmt: skip
        draw.say(f"{amount(rest, 'concept')} with no right answer yet.", draw.DIM)
    score = figures["score"]
    verdict = f": {score['label']}. {score['action']}" if score["begun"] else ""
    draw.heading("Checklist", f"{score['points']} of {score['of']} ticked{verdict}")
    ticks = [("✓" if one["ticked"] else "·", one["says"], draw.percent(one["record"]), one["gap"] or "–") for one in figures["checklist"]]
    draw.table(["", "can", "record", "gap"], ticks, left=("gap",), text=("can",))
    if score["begun"] and score["weak"]:
        draw.say(f"To review: {', '.join(score['weak'])}.")


def _when(row: Mapping[str, Any]) -> draw.Cell:
    if row["now"] == "confident error":
        return "now: sure, and wrong", draw.BAD
    if row["now"] == "due":
        return "now", draw.STRONG
    return ("new", draw.DIM) if row["due"] is None else row["due"][:16].replace("T", " ")
