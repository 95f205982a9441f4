"""The effects of instructions on the machine, by family."""
