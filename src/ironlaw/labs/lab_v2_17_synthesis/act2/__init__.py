"""Act II: one system, its constraints, and what one more of each thing would bring."""

from ironlaw.labs.lab_v2_17_synthesis.act2.goal import GOAL, task
from ironlaw.labs.lab_v2_17_synthesis.act2.instrument import CLAIMS, FOLLOWS, MORE, dials, view
from ironlaw.labs.lab_v2_17_synthesis.act2.slots import distance, lock, message, peek, reflection, reveal, takeaways, truth
