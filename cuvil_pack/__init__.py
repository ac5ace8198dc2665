"""Cuvil's packager: a trained model in, one `.cuvil` file out."""

from .pipeline import pack

__all__ = ["pack"]
