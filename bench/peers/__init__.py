"""Other crawlers on the same pages."""
