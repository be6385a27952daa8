"""What the machine gives: files, remote places, a cluster, progress."""
