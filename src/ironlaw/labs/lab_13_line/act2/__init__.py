"""Act II: a server that batches, always busy and hardly loaded."""

from ironlaw.labs.lab_13_line.act2.goal import GOAL, task
from ironlaw.labs.lab_13_line.act2.instrument import CLAIMS, MORE, dials, view
from ironlaw.labs.lab_13_line.act2.local_runs import captions, local_figures
from ironlaw.labs.lab_13_line.act2.slots import distance, lock, message, peek, reflection, reveal, takeaways, truth
