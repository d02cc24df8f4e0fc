"""`gossamer serve`: crawls over HTTP, for programs and for people. A process of its own, beside the crawls."""
