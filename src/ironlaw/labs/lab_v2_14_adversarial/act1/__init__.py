"""Act I: what an attack leaves, of the table's models and of a reader of digits."""

from ironlaw.labs.lab_v2_14_adversarial.act1.instrument import CLAIMS, FOLLOWS, MORE, dials, view
from ironlaw.labs.lab_v2_14_adversarial.act1.local_runs import captions, local_figures
from ironlaw.labs.lab_v2_14_adversarial.act1.slots import distance, lock, message, peek, reflection, reveal, truth
