"""Act II: what is worth having, and does it run faster?"""

from ironlaw.labs.lab_10_frontier.act2.goal import GOAL
from ironlaw.labs.lab_10_frontier.act2.instrument import CLAIMS, MORE, dials, view
from ironlaw.labs.lab_10_frontier.act2.local_runs import captions, local_figures
from ironlaw.labs.lab_10_frontier.act2.slots import STATES, distance, lock, message, peek, reflection, reveal, takeaways, truth
