"""What the zoo is made of: networks from outside, what is asked of each, and the page on them."""
