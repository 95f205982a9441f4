"""How a time is measured: on the GPU and on the CPU, with probes, statistics and a digest of the method."""
