"""`kdbg pipeline --follow`: tables of a folder that tcpdump is filling, by Spark's Structured Streaming."""
