"""Digest: archiving and parsing a response in a worker process. `pool` is the entrance, `parse` the work itself."""
