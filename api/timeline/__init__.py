"""An episode as a person follows it: its steps and events in order."""
