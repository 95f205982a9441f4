"""Optional: several computers behind one dashboard, through Dask. Only `service.cluster_module` imports it."""

from __future__ import annotations

import ipaddress

from engine.records import NotRunnable

NAME = "kernel-ladder"  # of the Dask worker's plugin, of a host's offer and of the topic of progress messages
# Used in place of Dask's own defaults; a configuration file overrides them.
SETTINGS = {"distributed": {"comm": {"timeouts": {"connect": "5s", "tcp": "12s"}}, "diagnostics": {"nvml": False},
                            "worker": {"profile": {"enabled": False}}}}  # fmt: skip


def check_address(address: str) -> None:
    """Raise NotRunnable for an address that is neither encrypted nor on this computer: everybody who reaches the
    scheduler's port can run programs."""
    protocol, _, place = address.partition("://")
    host = place.rpartition(":")[0].strip("[]")
    if protocol == "tls" or host == "localhost":
        return
    try:
        safe = protocol == "tcp" and ipaddress.ip_address(host).is_loopback
    except ValueError:
        safe = False
    if not safe:
        raise NotRunnable(
            f"The cluster's address {address} is not encrypted: make it tls://HOST:PORT, as docs/cluster.md says."
        )
