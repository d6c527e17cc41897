"""What every part of the daemon may know: settings, errors, clock, limits of the wire, what a
source is."""
