"""What is read: captures found wherever they lie, cut into splits, every cut proved and every packet numbered."""
