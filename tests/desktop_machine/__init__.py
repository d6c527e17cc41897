"""The machine's sources beside real programs: processes, the clipboard, the screen."""
