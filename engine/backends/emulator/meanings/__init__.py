"""The meanings of the PTX instructions, by family."""
