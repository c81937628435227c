"""How fast and how lean the losses are beside what one would use instead: `squentropy bench`."""
