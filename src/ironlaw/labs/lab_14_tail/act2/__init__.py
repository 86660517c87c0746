"""Act II: a hundred leaves."""

from ironlaw.labs.lab_14_tail.act2.goal import GOAL, task
from ironlaw.labs.lab_14_tail.act2.instrument import CLAIMS, MORE, dials, offers, view
from ironlaw.labs.lab_14_tail.act2.local_runs import captions, local_figures
from ironlaw.labs.lab_14_tail.act2.slots import distance, lock, message, peek, reflection, reveal, takeaways, truth
