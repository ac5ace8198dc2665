"""From a graph of kernels to a file: where every buffer lies, the C program of each variant, the bytes on disk."""
