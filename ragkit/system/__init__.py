"""Processes, files, clocks and logs of this machine."""
