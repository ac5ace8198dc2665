"""Kernel bodies to source code: templates, each found by being defined."""
