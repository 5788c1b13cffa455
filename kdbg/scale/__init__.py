"""Archives and other systems: Spark, SQL, spans of OpenTelemetry, metrics of Prometheus."""
