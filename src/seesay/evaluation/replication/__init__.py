"""The five papers: what they print, what was measured here, and whether it replicates."""
