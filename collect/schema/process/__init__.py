"""What concerns the process that reads: its terminal, requests to end it, and its memory."""
