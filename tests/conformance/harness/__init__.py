"""Each runs as ``python -m tests.conformance.harness.NAME SITE FOLDER`` and leaves FOLDER/session.mrec."""

EXECUTABLE = "/usr/bin/chromium"
ARGS = ("--no-sandbox", "--site-per-process", "--disable-background-networking", "--disable-component-update")
