"""Act I: what launches cost, pass by pass."""

from ironlaw.labs.lab_07_fusion.act1.curve import sealed
from ironlaw.labs.lab_07_fusion.act1.instrument import CLAIMS, MORE, dials, view
from ironlaw.labs.lab_07_fusion.act1.lanes import motion
from ironlaw.labs.lab_07_fusion.act1.local_runs import captions, local_figures
from ironlaw.labs.lab_07_fusion.act1.slots import distance, lock, message, peek, reflection, reveal, truth
