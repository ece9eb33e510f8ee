"""What comes out, kept: units, locks, atomic files, their marks, the database, the codebook."""
