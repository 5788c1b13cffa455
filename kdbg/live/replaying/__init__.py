"""Captured requests sent again: `plan` says in which order, `words` in which words, `replay` has the sockets."""
