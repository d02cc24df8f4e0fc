"""State machines without I/O: frontier, lanes, admission, commit. Time and randomness are arguments."""
