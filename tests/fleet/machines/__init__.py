"""Sandboxes that are virtual machines, run in QEMU from an image that ``make vm-image`` makes."""
