"""Record sets: message sets of magic 0 and 1 and record batches of magic 2, read, written, compressed, located."""
