"""Plans of TTrees, which trees with the same branches share."""

from __future__ import annotations

import json
from functools import cached_property
from typing import TYPE_CHECKING, Any

from colonnade.locks import ProcessLock
from colonnade.schema.spec import Spec

from .probing import probe
from .tree_plan import TreePlan, Unreadable
from .tree_schema import plan_fields

if TYPE_CHECKING:
    from .branch_patterns import Pattern

__all__ = ["PlannedTree", "SharedPlans"]

_PATTERNS = 4
"""At most."""


class PlannedTree:
    """The fields of a tree, and what follows from them. Their branches may be those of another tree."""

    def __init__(self, plan: TreePlan) -> None:
        self.plan = plan
        self.paths = [leaf.path for leaf in plan.leaves()]

    @cached_property
    def projections(self) -> dict[str, tuple[Spec, dict[str, str]]]:
        """See `TreePlan.projections`."""
        return self.plan.projections(aliases=True)

    @cached_property
    def counters(self) -> dict[str, str]:
        """See `TreePlan.counters`."""
        return self.plan.counters()

    @cached_property
    def counter_paths(self) -> set[str]:
        """See `TreePlan.counter_paths`."""
        return self.plan.counter_paths()

    @cached_property
    def titles(self) -> dict[str, str]:
        """See `TreePlan.titles`."""
        return self.plan.titles()

    @cached_property
    def names(self) -> frozenset[str]:
        """The names of all fields."""
        return frozenset([*self.projections, *(node.name for node in self.plan.nodes)])

    @cached_property
    def told(self) -> str:
        """Equal for equal fields."""
        return json.dumps([self.plan.schema(), self.projections, self.titles])


class SharedPlans:
    """The plans of trees by their structure. Any number of threads may use one.

    Args:
        of_many: whether there are several trees.
    """

    def __init__(self, *, of_many: bool) -> None:
        self._of_many = of_many
        self._lock = ProcessLock()
        self._plans: dict[tuple[object, ...], _Shared] = {}
        self.patterns: list[Pattern] = []
        """Those of some of the trees, by which others with the same branches are found sooner."""

    def plan_of(self, tree: Any) -> PlannedTree:
        """Return the plan of a tree of uproot, without branches that cannot be read."""
        from .late_branches import pattern_of, structure_of

        structure = structure_of(tree)
        if structure is None:
            return _planned(tree)
        with self._lock:
            is_new = structure not in self._plans
            shared = self._plans.setdefault(structure, _Shared())
            if is_new and self._of_many and len(self._plans) <= _PATTERNS:
                pattern = pattern_of(tree)
                self.patterns += [pattern] if pattern is not None else []
        return shared.plan_of(tree)

    def find(self, tree: Any) -> TreePlan | None:
        """Return the plan of trees with the structure of this one, whose branches they are; None if there is none.

        It has the branches that cannot be read as well.
        """
        from .late_branches import structure_of

        structure = structure_of(tree)
        shared = None if structure is None else self._plans.get(structure)
        return None if shared is None else shared.fields_of(tree)


class _Shared:
    def __init__(self) -> None:
        self._lock = ProcessLock()
        self._fields: TreePlan | None = None
        self._depends = False
        """Whether the fields depend on values."""
        self._planned: dict[tuple[Unreadable, ...], PlannedTree] = {}
        """By the branches that cannot be read."""

    def fields_of(self, tree: Any) -> TreePlan | None:
        """The fields of a tree; None if those of others may differ."""
        with self._lock:
            if self._fields is None:
                self._fields = _fields_of(tree)
                self._depends = tree.branches[0].late.has_read_baskets
            return None if self._depends else self._fields

    def plan_of(self, tree: Any) -> PlannedTree:
        fields = self.fields_of(tree)
        if fields is None:
            return _planned(tree)
        found = probe(tree, [leaf.of(tree) for leaf in fields.leaves() if leaf.objects])
        with self._lock:
            planned = self._planned.get(tuple(found))
            if planned is None:
                planned = self._planned[tuple(found)] = PlannedTree(fields.without(found))
            return planned


def _planned(tree: Any) -> PlannedTree:
    plan = _fields_of(tree)
    return PlannedTree(plan.without(probe(tree, plan.leaves())))


def _fields_of(tree: Any) -> TreePlan:
    return plan_fields(tree, lambda _: True)
