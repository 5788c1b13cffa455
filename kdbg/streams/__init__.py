"""From packets to the bytes that each side sent: TCP, and TLS where its secrets are known. No Kafka, no I/O."""
