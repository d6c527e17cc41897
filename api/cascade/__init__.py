"""From what the rules said of a step to its final value: which stage is asked, what it costs, who decides."""
