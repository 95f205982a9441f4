"""Sign-in, roles and their rights."""
