"""The pages around the paper: the front, the cards of claims, the data, what a page is made of."""
