"""Act II: more workers, less serial work, and what both cost."""

from ironlaw.labs.lab_12_amdahl.act2.challenge import judge
from ironlaw.labs.lab_12_amdahl.act2.goal import GOAL, task
from ironlaw.labs.lab_12_amdahl.act2.instrument import CLAIMS, MORE, dials, view
from ironlaw.labs.lab_12_amdahl.act2.local_runs import captions, local_figures
from ironlaw.labs.lab_12_amdahl.act2.slots import distance, lock, message, peek, reflection, reveal, takeaways, truth
