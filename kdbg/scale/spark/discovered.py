"""What Spark finds by itself: installed as the module `pyspark_kdbg`, for Spark looks into all named `pyspark_…`.

So `format("kdbg")` works in any session whose Python has kdbg installed from a wheel.
"""

from kdbg.scale.spark.source import DefaultSource

__all__ = ["DefaultSource"]
