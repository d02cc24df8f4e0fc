"""What tests of several areas share: servers, witnesses, generators. No tests."""
