"""Observers: they see what a launch does and never change it."""
