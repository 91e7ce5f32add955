"""The widget `yours`: is my number good? A reader's own text, read in the page; nothing leaves the browser."""
