"""Act II: a year within a budget of carbon."""

from ironlaw.labs.lab_v2_15_jevons.act2.goal import GOAL, task
from ironlaw.labs.lab_v2_15_jevons.act2.instrument import CLAIMS, FOLLOWS, MORE, dials, view
from ironlaw.labs.lab_v2_15_jevons.act2.slots import distance, lock, message, peek, reflection, reveal, takeaways, truth
