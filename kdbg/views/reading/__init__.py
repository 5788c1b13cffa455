"""What a Python program gets: exchanges of captures, entries of broker files, bytes explained; all show themselves."""
