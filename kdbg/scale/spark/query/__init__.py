"""The tables asked: in SQL, by the questions that are ready, or as DataFrames."""
