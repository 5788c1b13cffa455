"""What is the same and what differs: between two exchanges, field by field; between two captures, by meaning."""
