"""The native engine: battles of Gen 1 in a compiled library, with the rows, seeds and results of the Node hosts."""
