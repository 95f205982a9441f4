"""The emulator: PTX of a plan, executed on NumPy arrays over lanes, with counters and hazards."""

from engine.ptx.launch import run
from engine.ptx.schedule import LOCKSTEP, Schedule

__all__ = ["LOCKSTEP", "Schedule", "run"]
