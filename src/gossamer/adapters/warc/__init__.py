"""The archive on disk: WARC/1.1 segments written, read, indexed, checked and recovered."""
