"""PTX text -> Module -> Program: read, checked, inlined, cut into basic blocks."""
