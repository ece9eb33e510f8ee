"""Tables, charts and words of the controlled study."""
