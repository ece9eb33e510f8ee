"""L*, the layer at which a profile turns: by every estimator, published and measured."""
