"""The sections of the class report, one file each; every function takes the figures and gives HTML."""
