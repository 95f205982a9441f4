"""The computer that the engine runs on: its GPUs and processors, its software, its peak rates."""
