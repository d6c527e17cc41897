"""What lets somebody who does not trust this service check it: checkpoints, explanations,
verification, reports."""
