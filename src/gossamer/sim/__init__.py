"""The simulator: virtual clock, fakes of the ports, simulated web. Runs `core` and `stage` unchanged."""
