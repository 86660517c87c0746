"""Act II: two places to save to, and what is left of the time."""

from ironlaw.labs.lab_v2_07_checkpoint.act2.goal import GOAL, task
from ironlaw.labs.lab_v2_07_checkpoint.act2.instrument import CLAIMS, FOLLOWS, MORE, dials, view
from ironlaw.labs.lab_v2_07_checkpoint.act2.slots import distance, lock, message, peek, reflection, reveal, sealed, takeaways, truth
from ironlaw.labs.lab_v2_07_checkpoint.clusters import offers
