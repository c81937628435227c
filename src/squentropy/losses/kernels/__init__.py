"""Faster ways to the losses of the paper: a C++ library on the CPU, Triton kernels on a GPU."""
