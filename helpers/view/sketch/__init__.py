"""Small figures inside the prose, one idea each, drawn when the book is built."""
