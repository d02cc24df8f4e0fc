"""One file per arrow of the road a URL travels. Stages know ports, never adapters or one another."""
