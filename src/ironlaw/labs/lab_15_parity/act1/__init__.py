"""Act I: both sides of an argument are right."""

from ironlaw.labs.lab_15_parity.act1.instrument import CLAIMS, MORE, dials, view
from ironlaw.labs.lab_15_parity.act1.local_runs import captions, local_figures
from ironlaw.labs.lab_15_parity.act1.slots import distance, lock, message, peek, reflection, reveal, truth
