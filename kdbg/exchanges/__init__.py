"""From the bytes of two directions to exchanges: framing, pairing, messages, encoding mistakes, filters. No I/O."""
