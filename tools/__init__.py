"""Tools of the developers: they are not shipped, and nothing of Headrace imports them."""
