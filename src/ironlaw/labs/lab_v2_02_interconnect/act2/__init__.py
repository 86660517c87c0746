"""Act II: groups of devices on the wires."""

from ironlaw.labs.lab_v2_02_interconnect.act2.goal import GOAL, task
from ironlaw.labs.lab_v2_02_interconnect.act2.instrument import CLAIMS, FOLLOWS, MORE, dials, view
from ironlaw.labs.lab_v2_02_interconnect.act2.slots import distance, lock, message, peek, reflection, reveal, sealed, takeaways, truth
