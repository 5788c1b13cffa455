"""From packets to the bytes that each side sent, with the time and packet of every piece. No I/O, no Kafka."""
