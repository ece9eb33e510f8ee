"""Claims judged by what is printed: captions, tables, counts, every stated number."""
