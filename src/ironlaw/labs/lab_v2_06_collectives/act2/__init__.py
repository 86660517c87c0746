"""Act II: buckets behind a backward pass."""

from ironlaw.labs.lab_v2_06_collectives.act2.buckets import offers
from ironlaw.labs.lab_v2_06_collectives.act2.goal import GOAL, task
from ironlaw.labs.lab_v2_06_collectives.act2.instrument import CLAIMS, MORE, dials, view
from ironlaw.labs.lab_v2_06_collectives.act2.slots import distance, lock, message, peek, reflection, reveal, sealed, takeaways, truth
