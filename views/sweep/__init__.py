"""The sweep page: variants over block sizes, N, a parameter or elements per thread."""
