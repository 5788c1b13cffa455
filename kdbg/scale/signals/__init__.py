"""Exchanges in, what other people's tools look at out: spans of OpenTelemetry, metrics of Prometheus.

Spans and metrics are made here as data, without any of the two libraries; `collector.py` alone imports OpenTelemetry's,
to send spans, and `prometheus.py` alone that of Prometheus. Keys and values of records are in neither.
"""
