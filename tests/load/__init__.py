"""Load tests of the dashboard: scripts that print figures beside their goals.

    python -m tests.load.clicks      100 browsers, a click each every 10 s; 200 that only watch; 200 that follow
    python -m tests.load.visits      1,000 browsers that come and go
    python -m tests.load.endurance   20,000 runs through one server
    python -m tests.load.chaos       200 jobs, while workers and the server are killed

Each has --help, uses the loopback only, and ends with status 1 if a goal is missed.
"""
