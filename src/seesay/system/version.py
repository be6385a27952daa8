"""The version, where every room can read it without importing the package's public names."""

VERSION = "0.1.0"
