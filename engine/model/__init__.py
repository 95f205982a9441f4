"""A model of the time that a kernel takes on a GPU: costs counted by the emulator, formulas, constants, estimates."""
