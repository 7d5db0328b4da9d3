"""Compiling before it is needed: for a command, for an installation, for a wheel."""
