"""One captured message, the exchange it is half of, the payloads inside it: plain data, read when asked for. No I/O."""
