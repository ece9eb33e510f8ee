"""Units that lie together in few large files: put in, found there, and written out again."""
