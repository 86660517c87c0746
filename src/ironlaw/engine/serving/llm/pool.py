"""The cache's blocks: how many are free, and beginnings of prompts that are kept in case another request has them too."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Prefix:
    """Blocks that hold a common beginning, and how many requests use them now."""

    blocks: int
    users: int = 0


@dataclass(slots=True)
class Pool:
    total: int
    free: int = 0
    prefixes: dict[str, Prefix] = field(default_factory=dict)
    kept: int = 0  # blocks of beginnings that nobody uses now: given up when room is short, the oldest first

    def __post_init__(self) -> None:
        self.free = self.total

    @property
    def used(self) -> int:
        return self.total - self.free

    @property
    def room(self) -> int:
        return self.free + self.kept

    def take(self, count: int) -> bool:
        """Take `count` blocks, and say whether there were that many; prefixes in use are left alone."""
        if count > self.room:
            return False
        if count > self.free:
            self._forget(count - self.free)
        self.free -= count
        return True

    def give(self, count: int) -> None:
        self.free += count

    def _forget(self, count: int) -> None:
        for name in [name for name, prefix in self.prefixes.items() if not prefix.users]:
            blocks = self.prefixes.pop(name).blocks
            self.kept -= blocks
            self.free += blocks
            count -= blocks
            if count <= 0:
                return

    def keep(self, name: str, blocks: int) -> None:
        """The beginning of a request, which holds these blocks already, is there for others from now on."""
        self.prefixes[name] = Prefix(blocks, 1)

    def use(self, name: str) -> int:
        """The blocks of a beginning that is there; 0 where it is not."""
        prefix = self.prefixes.pop(name, None)
        if prefix is None:
            return 0
        self.prefixes[name] = prefix  # the youngest now
        if not prefix.users:
            self.kept -= prefix.blocks
        prefix.users += 1
        return prefix.blocks

    def leave(self, name: str) -> None:
        prefix = self.prefixes[name]
        prefix.users -= 1
        if not prefix.users:
            self.kept += prefix.blocks
