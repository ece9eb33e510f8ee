"""Tests of the hierarchy against each other, on simulated papers whose truth is known."""
