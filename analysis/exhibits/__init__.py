"""What the report shows and says, one room a section: frames, figure and words side by side.

Values that a sentence needs are computed in questions and claims; exhibits only arrange.
"""
