"""What a claim is, how its checks are made, and the one rule that turns them into a verdict."""
