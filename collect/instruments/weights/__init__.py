"""What the weights alone say: norms and singular values of matrices and of their products."""
