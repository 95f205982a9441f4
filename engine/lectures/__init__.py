"""The lectures' claims, laws and figures beside the measurements and counts of this program."""
