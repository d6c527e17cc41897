"""Tasks are attacked before they are trusted: adversaries made of a recording that solves one."""
