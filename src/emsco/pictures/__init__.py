"""Everything drawn: plots, pages, notebooks; each a plain record and a function that draws it."""
