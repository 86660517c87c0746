"""Act II: retries, copies and replicas, through a spike."""

from ironlaw.labs.lab_v2_12_slo.act2.goal import GOAL, task
from ironlaw.labs.lab_v2_12_slo.act2.instrument import CLAIMS, FOLLOWS, MORE, dials, view
from ironlaw.labs.lab_v2_12_slo.act2.loop import motion
from ironlaw.labs.lab_v2_12_slo.act2.slots import distance, lock, message, peek, reflection, reveal, takeaways, truth
