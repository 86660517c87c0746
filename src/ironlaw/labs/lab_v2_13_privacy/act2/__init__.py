"""Act II: a classifier within a budget."""

from ironlaw.labs.lab_v2_13_privacy.act2.goal import GOAL, task
from ironlaw.labs.lab_v2_13_privacy.act2.instrument import CLAIMS, FOLLOWS, MORE, dials, view
from ironlaw.labs.lab_v2_13_privacy.act2.slots import distance, lock, message, peek, reflection, reveal, takeaways, truth
