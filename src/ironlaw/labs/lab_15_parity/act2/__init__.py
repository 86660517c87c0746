"""Act II: choose a rule, and pay for it."""

from ironlaw.labs.lab_15_parity.act2.goal import GOAL, task
from ironlaw.labs.lab_15_parity.act2.instrument import CLAIMS, MORE, dials, view
from ironlaw.labs.lab_15_parity.act2.slots import distance, lock, peek, reflection, reveal, takeaways, truth
