"""The claims of the paper audited here, given as the folder of any audit gives them."""

from analysis.delia2026.pages.register import CLAIMS as REGISTER

CLAIMS = tuple(REGISTER.values())
