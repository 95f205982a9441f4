"""The Sweep page's menus and its grid of runs."""
