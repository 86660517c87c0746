"""What ironlaw wrote and nobody touched, read in one pass: a class hands in a million events, and all but a few are such.

Only the plain case is accepted here. Whatever else a file holds, `export_format.unpack` looks at it field by field and says what is wrong.
"""

from __future__ import annotations

from datetime import datetime
from hashlib import sha256
from json.encoder import encode_basestring_ascii as quoted
from typing import Any

from ironlaw.errors import BadValue
from ironlaw.ledger.chain import genesis
from ironlaw.ledger.event_kinds import KINDS
from ironlaw.ledger.events import HIGHEST, NO_LAB, OUR_TIME, Event, encode
from ironlaw.ledger.payload_fields import UUID, Name

FIELDS = frozenset(("id", "learner", "epoch", "lab", "attempt", "kind", "payload", "time", "hash"))
_LAB = Name()


def events(items: list[Any], learner: str, since: str, head: str) -> list[Event] | None:
    """The events of an export with its chain, if each is of a known kind, has no field more, and the chain holds; None otherwise."""
    digest, labs, learners, whole, own_time = genesis(learner, since), {""}, {learner}, UUID.fullmatch, OUR_TIME.fullmatch
    out = []
    for item in items:
        if not isinstance(item, dict) or item.keys() != FIELDS:
            return None
        id, owner, epoch, lab, attempt = item["id"], item["learner"], item["epoch"], item["lab"], item["attempt"]
        kind, payload, time = item["kind"], item["payload"], item["time"]
        if not (type(id) is type(owner) is type(lab) is type(kind) is type(time) is str and type(epoch) is type(attempt) is int):
            return None
        if owner not in learners:
            if not whole(owner):
                return None
            learners.add(owner)
        if lab not in labs:
            if not _LAB.valid(lab):
                return None
            labs.add(lab)
        if kind not in KINDS or not (lab or kind in NO_LAB) or not (1 <= epoch <= HIGHEST and 1 <= attempt <= HIGHEST):
            return None
        if type(payload) is not dict or not whole(id) or not own_time(time):
            return None
        try:
            datetime.fromisoformat(time)
            text = encode(payload)
        except (BadValue, ValueError):
            return None
        # as chain.link encodes it, whose every value is of a known form by now
        line = f'["{digest}","{id}","{owner}",{epoch},{quoted(lab)},{attempt},"{kind}",{quoted(text)},"{time}",null]'
        digest = sha256(line.encode()).hexdigest()
        if digest != item["hash"]:
            return None
        out.append(Event(id, owner, epoch, lab, attempt, kind, payload, time))
    return out if digest == head else None
