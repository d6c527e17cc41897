"""Requests of the browser, from the moment that they are sent to the moment that they are answered
or failed."""
