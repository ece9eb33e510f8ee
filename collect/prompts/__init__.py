"""What goes into a model: prompt sets, how they are rendered, and their tokens."""
