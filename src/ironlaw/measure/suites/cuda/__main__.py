"""python -m ironlaw.measure.suites.cuda"""

from ironlaw.measure.suites.cuda.sweep import main

main()
