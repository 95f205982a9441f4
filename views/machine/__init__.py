"""The page of this machine: the doctor, and the warm-up before a lecture."""
