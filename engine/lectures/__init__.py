"""What the lectures say, beside what is measured and counted here."""
