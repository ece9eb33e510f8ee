"""Whole clusters drawn again, labels exchanged between whole units."""
