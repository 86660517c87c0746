"""Act II: a step that must fit a card."""

from ironlaw.labs.lab_08_ledger.act2.goal import GOAL, task
from ironlaw.labs.lab_08_ledger.act2.instrument import CLAIMS, MORE, dials, view
from ironlaw.labs.lab_08_ledger.act2.slots import distance, lock, message, peek, reflection, reveal, takeaways, truth
