"""What a person meets: command line, live view, reports, explanations."""
