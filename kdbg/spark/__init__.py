"""Archives of captures on Spark: splits, stages and tables. The only room that imports pyspark and pyarrow.

What makes rows of exchanges (`rows`, `partitions`, `groups`) needs neither of them.
"""
