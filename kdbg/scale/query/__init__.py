"""SQL answered by DuckDB in this process: about captures, decoded for the question, and about a pipeline's tables."""
