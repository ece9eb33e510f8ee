"""Fine-tuning: whether instruct versions keep the sign of their base."""
