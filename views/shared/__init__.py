"""What the pages share: runs, menus, the address, the keyboard, presence, the live presentation."""
