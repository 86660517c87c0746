"""Act I: one area, cut two ways."""

from ironlaw.labs.lab_13_line.act1.instrument import CLAIMS, MORE, dials, view
from ironlaw.labs.lab_13_line.act1.local_runs import captions, local_figures
from ironlaw.labs.lab_13_line.act1.requests import motion
from ironlaw.labs.lab_13_line.act1.slots import distance, lock, message, peek, reflection, reveal, truth
