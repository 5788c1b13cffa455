"""Exchanges in, what other people's tools look at out: spans of OpenTelemetry, metrics of Prometheus.

Spans and metrics are made here as data, without any of the two libraries; `collector.py` alone imports OpenTelemetry's,
to send spans, and `metrics.py` that of Prometheus where it prints. Keys and values of records are in neither.
"""
