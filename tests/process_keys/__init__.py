"""Real programs with open TLS connections to a real broker, for `--pid`, which finds the secrets in their memory."""
