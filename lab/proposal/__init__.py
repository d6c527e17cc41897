"""`milestoned task propose`: what recorded successes share and failures lack, as a task."""
