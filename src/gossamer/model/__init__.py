"""Values: what the program talks about. No I/O, no clock, no policy."""
