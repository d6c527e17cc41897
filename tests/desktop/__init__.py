"""Desktop programs under Xvfb, watched by the source "ax" and driven by xdotool alone."""
