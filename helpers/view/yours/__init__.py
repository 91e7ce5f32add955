"""The widget `yours`: is my number good? A reader's own text, read in the page; nothing leaves the browser."""

from helpers.view.yours.widget import Yours, yours, yours_html, yours_spec

__all__ = ["Yours", "yours", "yours_html", "yours_spec"]
