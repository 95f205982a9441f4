"""Control dependence: the branches that decide whether a piece of code is executed.

Graphs are sequences: `graph[i]` holds the successors of node i. Sets of nodes are bit sets.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

Graph = Sequence[Sequence[int]]


def nodes_behind(graph: Graph) -> list[int]:
    """Return for each node the nodes on every path from it to an end, itself included."""
    ends = {node for node, after in enumerate(graph) if not after}
    return on_every_path(graph, ends, range(len(graph) - 1, -1, -1))


def dominators(before: Graph, entries: Collection[int]) -> list[int]:
    """Return for each node the nodes on every path to it from `entries`, itself included. `before`: the predecessors of
    each node."""
    return on_every_path(before, entries, range(len(before)))


def on_every_path(graph: Graph, ends: Collection[int], order: Sequence[int]) -> list[int]:
    """Return for each node the nodes on every path from it to one of `ends`, itself included; all nodes if no path
    leads there. `order`: of the nodes; the nearer to the ends they come first, the sooner it is done."""
    every = (1 << len(graph)) - 1
    found = [1 << node if node in ends else every for node in range(len(graph))]
    changed = True
    while changed:
        changed = False
        for node in order:
            if node in ends:
                continue
            common = every
            for after in graph[node]:
                common &= found[after]
            common |= 1 << node
            if common != found[node]:
                found[node], changed = common, True
    return found


def deciding_branches(graph: Graph) -> list[int]:
    """Return for each node the nodes with several successors that decide, directly or not, whether it is executed."""
    behind = nodes_behind(graph)
    found = [0] * len(graph)
    for branch, ways in enumerate(graph):
        if len(set(ways)) > 1:
            reached = 0
            for after in ways:
                reached |= behind[after]
            for node in _members(reached & ~(behind[branch] & ~(1 << branch))):
                found[node] |= 1 << branch
    changed = True
    while changed:
        changed = False
        for node, branches in enumerate(found):
            more = branches
            for branch in _members(branches):
                more |= found[branch]
            if more != branches:
                found[node], changed = more, True
    return found


def _members(nodes: int) -> Iterator[int]:
    while nodes:
        lowest = nodes & -nodes
        yield lowest.bit_length() - 1
        nodes ^= lowest


_JUMP, _DIV = 0x147, 91  # BRA; the bit of BRA.DIV, which leads to a copy of the code for diverged warps
_EXIT, _RETURN, _INDEXED = 0x14D, 0x150, (0x149, 0x14A, 0x14C)  # BRX, JMP, JMX
_ALWAYS = 7


def branch_target(code: Sequence[int], at: int) -> int:
    """Return the target of the branch at `at`, as an index into `code`: instructions of 16 bytes, one number each.

    The branch holds the distance from the next instruction in words of 4 bytes: the low 8 bits in bits 16 to 23, the
    rest in bits 34 to 81.
    """
    one = code[at]
    far = one >> 34 & (1 << 48) - 1
    far -= far >> 47 << 48
    return at + 1 + (far << 8 | one >> 16 & 0xFF) * 4 // 16


def is_certain(one: int) -> bool:
    """Return whether the jump or exit has no condition."""
    return one >> 12 & 15 == _ALWAYS and one >> 87 & 7 == _ALWAYS and not one >> _DIV & 1


PREDICATED = 0


def conditions_of(code: Sequence[int], lines: Sequence[int]) -> Mapping[int, frozenset[int]]:
    """Return for each reachable instruction the PTX lines of the jumps that decide whether it is executed.

    PREDICATED is among them if the instruction has a predicate. `lines`: the PTX line of each instruction. Empty: the
    code jumps to computed addresses.
    """
    operations = [one & 0x1FF for one in code]
    if any(operation in _INDEXED for operation in operations):
        return {}
    jumps = {at: branch_target(code, at) for at, one in enumerate(code) if one & 0x1FF == _JUMP and not one >> _DIV & 1}
    ends = {at for at, operation in enumerate(operations) if at in jumps or operation in (_EXIT, _RETURN)}
    starts = sorted({0, *(at + 1 for at in ends), *jumps.values()} & set(range(len(code))))
    stops = (*starts[1:], len(code))
    block_of, outside = {at: number for number, at in enumerate(starts)}, len(starts)
    graph: list[tuple[int, ...]] = []
    for number, stop in enumerate(stops):
        last = stop - 1
        ways = () if last in ends and is_certain(code[last]) else (number + 1,)
        graph.append((*ways, block_of.get(jumps.get(last, -1), outside)) if last in ends else ways)
    deciding = deciding_branches([*graph, ()])
    found: dict[int, frozenset[int]] = {}
    for number in _reached([*graph, ()]) - {outside}:
        above = frozenset(lines[stops[branch] - 1] for branch in _members(deciding[number]))
        for at in range(starts[number], stops[number]):
            found[at] = above if code[at] >> 12 & 15 == _ALWAYS else above | {PREDICATED}
    return found


def _reached(graph: Graph) -> set[int]:
    seen, ahead = set[int](), [0]
    while ahead:
        node = ahead.pop()
        if node not in seen:
            seen.add(node)
            ahead += graph[node]
    return seen
