"""Cuvil's packager: a trained model in, one `.cuvil` file out."""
