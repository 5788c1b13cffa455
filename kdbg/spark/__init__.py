"""Archives of captures on Spark: splits, stages and tables. The only room that imports pyspark and pyarrow.

What makes rows of exchanges (`rows` and what it imports) needs neither of them.
"""
