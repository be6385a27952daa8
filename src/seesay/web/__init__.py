"""The library as a web page and an HTTP API, with the same verbs as in Python."""
