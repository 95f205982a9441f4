"""What an instruction does to the machine, by family."""
