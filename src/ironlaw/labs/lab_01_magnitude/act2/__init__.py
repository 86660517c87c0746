"""Act II: which term of the Iron Law is the bottleneck."""

from ironlaw.labs.lab_01_magnitude.act2 import walk_panel
from ironlaw.labs.lab_01_magnitude.act2.goal import GOAL, task
from ironlaw.labs.lab_01_magnitude.act2.instrument import CLAIMS, FOLLOWS, dials, view
from ironlaw.labs.lab_01_magnitude.act2.local_runs import captions, local_figures
from ironlaw.labs.lab_01_magnitude.act2.slots import distance, peek, reflection, reveal, takeaways, truth
from ironlaw.labs.lab_01_magnitude.act2.way import motion
