"""Act I: the test that waited politely."""

from ironlaw.labs.lab_14_tail.act1.instrument import CLAIMS, MORE, dials, view
from ironlaw.labs.lab_14_tail.act1.local_runs import captions, local_figures
from ironlaw.labs.lab_14_tail.act1.slots import distance, lock, message, peek, reflection, reveal, truth
from ironlaw.labs.lab_14_tail.act1.stall import motion
