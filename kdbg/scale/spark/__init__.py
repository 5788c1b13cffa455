"""Archives of captures on Spark: splits, stages and tables. The only package that imports pyspark."""
