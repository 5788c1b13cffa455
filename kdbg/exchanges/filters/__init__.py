"""Conditions on exchanges: which of them a person wants to see."""
