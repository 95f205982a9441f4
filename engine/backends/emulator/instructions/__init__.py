"""What an instruction does to the machine: one module a family."""
