"""What this computer is: its GPUs, its software, what works."""
