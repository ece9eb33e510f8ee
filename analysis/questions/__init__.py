"""What is asked of these data: who, how deep, where it turns, under which choices.

A question takes frames from the store and methods from the toolbox. It knows no claim.
"""
