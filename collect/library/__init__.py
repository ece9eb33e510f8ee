"""The public face of collection for programs; `collect` itself hands on what is here."""
