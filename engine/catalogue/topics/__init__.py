"""One module a topic: its kernels, its plan, its check."""
