"""`milestoned task propose` and `refine`: what successes share and failures lack, as a task."""
