"""Act I: a pipeline, and the time in which its stages wait."""

from ironlaw.labs.lab_v2_05_parallelism.act1.film import motion
from ironlaw.labs.lab_v2_05_parallelism.act1.instrument import CLAIMS, MORE, dials, view
from ironlaw.labs.lab_v2_05_parallelism.act1.local_runs import captions, local_figures
from ironlaw.labs.lab_v2_05_parallelism.act1.slots import distance, lock, message, peek, reflection, reveal, truth
