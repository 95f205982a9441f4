"""Source -> PTX or cubin, with NVRTC; and what a cubin says of its kernel."""
