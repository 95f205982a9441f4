"""The dashboard under a class's load, and what becomes of it: scripts that print their figures.

    python -m tests.load.clicks      100 browsers, a click each every 10 s; 200 that only watch
    python -m tests.load.visits      1,000 browsers that come and go
    python -m tests.load.endurance   20,000 runs through one server
    python -m tests.load.chaos       200 jobs, while workers and the server are killed

Each has --help, talks to the loopback only, and ends with status 1 where a goal is missed.
"""
