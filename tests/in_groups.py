"""One test for a group of things that are many and quick to check: pytest's own share of a test is milliseconds, more than the check's."""

import inspect
from collections.abc import Callable, Iterable
from typing import Any

import pytest


def in_groups(name: str, things: Iterable[Any], group: Callable[[Any], str]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Like `parametrize(name, things)`, but by group. What fails says for which thing; fixtures are one group's together."""
    groups: dict[str, list[Any]] = {}
    for thing in things:
        groups.setdefault(group(thing), []).append(thing)

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        def check(group: str, **fixtures: Any) -> None:
            for thing in groups[group]:
                try:
                    test(**{name: thing}, **fixtures)
                except BaseException as error:
                    error.add_note(f"{name}: {thing}")
                    raise

        asked = inspect.signature(test)
        kept = [each for each in asked.parameters.values() if each.name != name]
        check.__signature__ = asked.replace(parameters=[inspect.Parameter("group", inspect.Parameter.POSITIONAL_OR_KEYWORD), *kept])  # type: ignore[attr-defined]
        check.__name__, check.__doc__, check.__module__ = test.__name__, test.__doc__, test.__module__
        return pytest.mark.parametrize("group", groups)(check)

    return decorate
