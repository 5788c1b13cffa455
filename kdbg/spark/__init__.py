"""Archives of captures on Spark: splits, stages and tables. The only room that imports pyspark and pyarrow."""

from .frames import connections, exchanges, files, groups, partitions, problems, records, register

__all__ = ["connections", "exchanges", "files", "groups", "partitions", "problems", "records", "register"]
