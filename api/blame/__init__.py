"""Why a step or an episode failed: a closed set of causes by rules over the log, masks by cause."""
