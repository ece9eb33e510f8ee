"""The page made: cross-references, callouts, images, pandoc, one self-contained file."""
