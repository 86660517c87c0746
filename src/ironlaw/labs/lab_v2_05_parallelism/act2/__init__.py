"""Act II: a layout for a given run."""

from ironlaw.labs.lab_v2_05_parallelism.act2.goal import GOAL, task
from ironlaw.labs.lab_v2_05_parallelism.act2.instrument import CLAIMS, FOLLOWS, MORE, dials, view
from ironlaw.labs.lab_v2_05_parallelism.act2.slots import distance, lock, message, peek, reflection, reveal, takeaways, truth
from ironlaw.labs.lab_v2_05_parallelism.box_of_context import offers
