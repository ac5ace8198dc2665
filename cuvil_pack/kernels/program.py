"""Put kernels and the steps that call them into one C program."""
