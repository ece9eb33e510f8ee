"""What our own measurements show: changes of weights, invariant partners, signs, growth."""
