"""The audit of one paper, a room a subject: claims, methods and figures side by side."""
