"""Choosing schedules."""
