"""python -m ironlaw.measure.suites.cuda"""

from ironlaw.measure.suites.cuda.cuda_sweep import main

main()
