"""The learned reward model: features of the log, trees read by numpy, a calibrated verdict or
none."""
