"""What exchanges mean together: ledgers, causes, stories, lints, statistics, differences, application logs. No I/O."""
