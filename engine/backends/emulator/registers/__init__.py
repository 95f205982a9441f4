"""Registers as arrays over lanes: a register is as small as what it depends on."""
