"""Episodes as OpenTelemetry traces: spans and evaluations, sent to a collector at the seal."""
