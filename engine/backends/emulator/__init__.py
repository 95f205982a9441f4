"""The emulator: PTX of a plan, executed on NumPy arrays over lanes, with counters and hazards."""

from engine.backends.emulator.launch import run
from engine.backends.emulator.state.schedule import LOCKSTEP, Schedule

__all__ = ["LOCKSTEP", "Schedule", "run"]
