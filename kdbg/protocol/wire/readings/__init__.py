"""What can be derived from a grammar: BNF, layout rows, byte spans, compiled readers, facts of a message, secrets."""
