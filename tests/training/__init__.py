"""The learned reward model: features, training, calibration, what is served."""
