"""Groups of lanes that run together: which is next, where they wait, when they meet again."""
