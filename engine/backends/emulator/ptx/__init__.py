"""PTX text -> Module -> Program: parsed, checked, inlined, cut into basic blocks."""
