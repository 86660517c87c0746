"""Pictures that move: what the engine says happens, as `widget.motion.Motion`, one file per process."""
