"""States that another engine wrote: read, measured as our own are, compared with our own."""
