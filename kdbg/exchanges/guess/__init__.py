"""What bytes without a context are: candidates, each with a score. No I/O."""
