"""What every feature of the service may know: settings, errors, limits, keys, logs, metrics."""
