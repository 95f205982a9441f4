"""The engine of Kernel Ladder: plans, compiles, runs, checks and times kernels. It never imports Streamlit."""
