"""Bytes of two directions in, exchanges out: frames, pairing, resynchronisation, payloads opened. No I/O here."""
