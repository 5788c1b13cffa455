"""The mistakes of programs that write messages: the smallest change that makes a message valid. No I/O."""
