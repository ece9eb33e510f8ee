"""How large, how alike, how many: noncentral intervals, equivalence, many tests."""
