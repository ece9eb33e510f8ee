"""Run decoders and write raw measurements to Parquet."""
