"""Protocols that the core and the stages need from the outside world; adapters fulfil them."""
