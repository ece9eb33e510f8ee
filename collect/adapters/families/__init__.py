"""The layouts, one adapter each, in files named for the first family that had them."""
