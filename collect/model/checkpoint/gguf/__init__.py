"""GGUF files: one file that holds weights, most of them in blocks of a few bits, and tokenizer."""
