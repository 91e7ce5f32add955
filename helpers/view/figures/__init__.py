"""Charts: plain data in, a plotly figure out."""
