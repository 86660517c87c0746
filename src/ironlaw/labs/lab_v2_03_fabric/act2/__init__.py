"""Act II: three jobs on switches that have to be paid for."""

from ironlaw.labs.lab_v2_03_fabric.act2.cluster import offers
from ironlaw.labs.lab_v2_03_fabric.act2.goal import GOAL, task
from ironlaw.labs.lab_v2_03_fabric.act2.instrument import CLAIMS, FOLLOWS, MORE, dials, view
from ironlaw.labs.lab_v2_03_fabric.act2.slots import distance, lock, message, peek, reflection, reveal, takeaways, truth
