"""The claims of the paper audited here, as the folder of any audit has them."""

from analysis.heritage.register import CLAIMS

__all__ = ["CLAIMS"]
