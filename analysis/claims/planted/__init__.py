"""Papers with planted truths on the real design, judged by the rule that judges the real one.

A simulated paper has the models, suites, labs, shapes and sizes of the real one, and log gains in
which one thing rules. Its sentences are those of the central claims, one a module here. What each
check would find is computed for all papers at once, so a function returns one sequence of papers a
check; the verdict is that of `analysis.claims.verdict.claim.verdict`.
"""
