"""Shared by the pages: runs, menus, the address, the keyboard, presence, the presentation."""
