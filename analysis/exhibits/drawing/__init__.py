"""How every chart looks: one theme, one typeface; and the charts of any mixed model."""
