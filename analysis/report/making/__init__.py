"""The page made: one filter of pandoc, images, templates, a self-contained file or a PDF."""
