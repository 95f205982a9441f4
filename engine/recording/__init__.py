"""The whole catalogue measured on this GPU, so that a computer without one can show its times."""
