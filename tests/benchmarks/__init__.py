"""Cuvil beside its peers: time, memory, start-up. Nothing here is a test but the files named so."""
