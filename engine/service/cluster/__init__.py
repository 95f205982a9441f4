"""Optional: several computers behind one dashboard, through Dask. Only `service.cluster_module` imports it."""

from __future__ import annotations

import ipaddress

from engine.records import NotRunnable
from engine.records.words import reason_text

NAME = "kernel-ladder"  # of the Dask worker's plugin, of a host's offer and of the topic of progress messages
# Used in place of Dask's own defaults; a configuration file overrides them.
SETTINGS = {"distributed": {"comm": {"timeouts": {"connect": "5s", "tcp": "12s"}}, "diagnostics": {"nvml": False},
                            "worker": {"profile": {"enabled": False}}}}  # fmt: skip


def check_address(address: str) -> None:
    """Raise NotRunnable for an address without a port, and for one that is neither encrypted nor on this computer:
    everybody who reaches the scheduler's port can run programs."""
    protocol, _, place = address.partition("://")
    host, _, port = place.rpartition(":")
    host = host.strip("[]")
    if protocol in ("tls", "tcp") and not (port.isdecimal() and 0 < int(port) < 65536):
        raise NotRunnable(f"The cluster's address {address} has no port: make it tls://HOST:PORT.")
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


def check_certificate(address: str, role: str) -> None:
    """Raise NotRunnable if the address is encrypted, and Dask's settings name no certificate that can be used.

    `role`: of this program, "worker" or "client".
    """
    from distributed.security import Security  # heavy

    if not address.startswith("tls://"):
        return
    try:
        missing = Security().get_connection_args(role)["ssl_context"] is None
    except (OSError, ValueError, TypeError) as error:  # of the file system, ssl or Dask
        raise NotRunnable(
            f"The cluster's certificate cannot be used: {reason_text(error)}. See docs/cluster.md."
        ) from None
    if missing:
        raise NotRunnable("Dask's settings name no certificate for the cluster: docs/cluster.md says how to make one.")
