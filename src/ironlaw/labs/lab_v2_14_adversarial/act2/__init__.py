"""Act II: a robust model, and what it costs to train and to run."""

from ironlaw.labs.lab_v2_14_adversarial.act2.goal import GOAL, task
from ironlaw.labs.lab_v2_14_adversarial.act2.instrument import CLAIMS, FOLLOWS, MORE, dials, view
from ironlaw.labs.lab_v2_14_adversarial.act2.plan import offers
from ironlaw.labs.lab_v2_14_adversarial.act2.slots import distance, lock, message, peek, reflection, reveal, takeaways, truth
