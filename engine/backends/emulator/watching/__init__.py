"""Observers of a launch, which never change it."""
