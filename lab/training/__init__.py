"""From preferences to a reward model: pairs, boosting, calibration on groups left out, measures.
Extra: train."""
