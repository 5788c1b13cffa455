"""Bytes of two directions in, exchanges out: classified, cut into frames, paired by correlation id. No I/O."""
