"""Clients answered from a capture: `recording` is what it can answer, `answers` says what, `serve` has the sockets."""
