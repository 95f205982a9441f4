"""The page of all terms, and the cards that explain a term where it stands."""
