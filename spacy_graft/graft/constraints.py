"""What a model must not use, and what it must: names, signs of weights, and locked weights."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import translate
from functools import cached_property
from typing import Any, TypeVar

from ..extract.options import as_names
from ..extract.streams import Stream
from ..messages import did_you_mean, listed
from ..options import is_number_in, require_keys
from ..registry import graft_constraints

RepeatedT = TypeVar("RepeatedT")

#: Separates the members of a product in its name, and a block from a pattern.
PRODUCT_SIGN, BLOCK_SIGN = " × ", "::"
#: A wildcard that stands for itself.
ESCAPED = re.compile(r"\[([*?\[])\]")
#: The largest weight that can be locked: it makes a label e^1000 times as probable, and training ends soon.
LARGEST_WEIGHT = 1e3
#: What weights of a label may be; ``any`` takes back an earlier choice.
SIGNS_OF_LABELS = ("positive", "negative", "any")


@dataclass(frozen=True)
class Pattern:
    """A pattern on the names of features: ``*``, ``?`` and ``[...]`` are wildcards, as in the shell.

    Attributes
    ----------
    text : str
        ``block::name`` or ``name``. The block, if any, is a name or ``*``.
    """

    text: str

    @cached_property
    def block(self) -> str | None:
        """The block whose features are meant; None for all blocks."""
        block, sign, _ = self.text.partition(BLOCK_SIGN)
        return block if sign and block != "*" else None

    @cached_property
    def name(self) -> str:
        """The pattern on the name."""
        _, sign, name = self.text.partition(BLOCK_SIGN)
        return name if sign else self.text

    @cached_property
    def literal(self) -> str | None:
        """The only name that matches: without wildcards, of which ``[*]``, ``[?]`` and ``[[]`` are none."""
        has_wildcard = any(character in ESCAPED.sub("", self.name) for character in "*?[")
        return None if has_wildcard else ESCAPED.sub(r"\1", self.name)

    @property
    def is_product(self) -> bool:
        """Whether it names a product."""
        return PRODUCT_SIGN in self.name

    @cached_property
    def longest_part(self) -> str:
        """The longest string without a wildcard that a name must have to match."""
        return max(re.split(r"[*?]|\[!?\]?[^\]]*\]", self.name), key=len)

    @property
    def members(self) -> list[str]:
        """The items of the product that it names, sorted; none if it names no product."""
        return sorted(self.literal.split(PRODUCT_SIGN)) if self.is_product and self.literal is not None else []

    def is_product_of(self, other: Pattern) -> bool:
        """Whether both name the same product; their block is that of all products."""
        return self.is_product and self.members == other.members

    def may_overlap(self, other: Pattern) -> bool:
        """Whether a name may match both; certain only if one of them has no wildcard."""
        if None not in (self.block, other.block) and self.block != other.block:
            return False
        if other.literal is not None:
            return bool(self.matches(other.literal))
        return self.literal is None or bool(other.matches(self.literal))

    @cached_property
    def matches(self) -> Callable[[str], Any]:
        """A function that is true of the names that match."""
        return re.compile(translate(self.name)).match

    def is_of(self, block: str | None) -> bool:
        """Whether features of a block, or of any, are meant."""
        return self.block in (None, block)


@dataclass(frozen=True, kw_only=True)
class Constraints:
    """What a model must not use, and what it must.

    Attributes
    ----------
    deny : sequence of str
        Patterns (:class:`Pattern`) on the names of features that the model must not have. Products of denied items are
        denied as well.
    allow : sequence of str
        Patterns on names that are exceptions from these. With ``deny = ["*"]``, only they are allowed.
    signs : mapping of str to str, or sequence of pairs
        By label, the only sign that its weights may have: ``positive`` (features speak for the label, or for nothing),
        ``negative``, or ``any``.
    locked : mapping of str to mapping of str to float, or sequence of triples
        By name of a feature and label, a weight that is not trained. None takes back an earlier one.

    Raises
    ------
    ValueError
        If an option is invalid, or two contradict each other.
    """

    deny: Sequence[str] = ()
    allow: Sequence[str] = ()
    signs: Any = ()
    locked: Any = ()

    def __post_init__(self) -> None:
        for option in ("deny", "allow"):
            object.__setattr__(
                self, option, tuple(dict.fromkeys(as_names("Constraints", option, getattr(self, option))))
            )
        object.__setattr__(self, "signs", checked_signs(self.signs))
        object.__setattr__(self, "locked", checked_locks(self.locked))
        for pattern in self.denied:
            if pattern.is_product and pattern.literal is None:
                raise ValueError(
                    f"Constraints: deny has {pattern.text!r}, but products are searched without being listed: name one "
                    f"product exactly (write [?] and [*] for these characters), deny one of its items, or deny the "
                    f"block of products. In another name with × in it, write ? for ×."
                )
        if both := [
            one.text for one in self.allowed if one.text in self.deny or any(map(one.is_product_of, self.denied))
        ]:
            raise ValueError(f"Constraints: {listed(both)} is denied and allowed. Remove it from one of the lists.")
        self._check_locks()

    def _check_locks(self) -> None:
        signs = dict(self.signs)
        for name, label, weight in self.locks:
            lock = Pattern(name)
            if lock.is_product:
                raise ValueError(
                    f"Constraints: {name!r} is the name of a product, whose weight cannot be locked. Lock an item."
                )
            if by := self.denial_of(lock.block, lock.name):
                raise ValueError(
                    f"Constraints: the weight of {name!r} is locked, but {by.text!r} denies it. Add it to allow, or "
                    f"remove the lock."
                )
            sign = signs.get(label, "any")
            if (sign == "positive" and weight < 0.0) or (sign == "negative" and weight > 0.0):
                raise ValueError(
                    f"Constraints: {name!r} is locked at {weight:g} for {label!r}, whose weights may only be {sign}. "
                    f"Change one of them."
                )

    @cached_property
    def denied(self) -> tuple[Pattern, ...]:
        """The patterns of ``deny``."""
        return tuple(map(Pattern, self.deny))

    @cached_property
    def allowed(self) -> tuple[Pattern, ...]:
        """The patterns of ``allow``."""
        return tuple(map(Pattern, self.allow))

    @property
    def locks(self) -> list[tuple[str, str, float]]:
        """Name, label and weight of what is locked."""
        return [lock for lock in self.locked if lock[2] is not None]

    @property
    def one_sided(self) -> dict[str, str]:
        """The sign of each label that has one."""
        return {label: sign for label, sign in self.signs if sign != "any"}

    @property
    def names(self) -> tuple[str, ...]:
        """All patterns and names that must be found among the features."""
        return (*self.deny, *self.allow, *dict.fromkeys(name for name, _, _ in self.locks))

    def __bool__(self) -> bool:
        return bool(self.names or self.one_sided)

    def denial_of(self, block: str | None, name: str) -> Pattern | None:
        """The pattern that denies a feature, if there is one; of unknown block only those of all blocks count."""

        def first(patterns: Iterable[Pattern]) -> Pattern | None:
            return next((pattern for pattern in patterns if pattern.is_of(block) and pattern.matches(name)), None)

        return None if first(self.allowed) else first(self.denied)

    def followed_by(self, later: Constraints) -> Constraints:
        """Both, where what is said later counts. A product that is allowed is one that was denied.

        Raises
        ------
        ValueError
            If a lock is taken back that there is not, or a name is denied that an exception allows.
        """
        held = [(name, label) for name, label, _ in self.locks]
        for name, label, weight in later.locked:
            if weight is None and (name, label) not in held:
                raise ValueError(
                    f"Constraints: there is no lock of {name!r} for {label!r} to take back. The locks: "
                    f"{listed(f'{one} for {of}' for one, of in held)}."
                )
        deny_before = [one.text for one in self.denied if not any(map(one.is_product_of, later.allowed))]
        allow_later = [one.text for one in later.allowed if not any(map(one.is_product_of, self.denied))]
        locked = {(name, label): weight for name, label, weight in (*self.locked, *later.locked)}
        signs = {**dict(self.signs), **dict(later.signs)}
        deny = [*(text for text in deny_before if text not in later.allow), *later.deny]
        # What takes a denial back is an exception only from others that may deny the same: later ones count in full.
        others = [*map(Pattern, deny)]
        exceptions = (
            text for text in allow_later if text not in self.deny or any(map(Pattern(text).may_overlap, others))
        )
        both = Constraints(
            deny=deny,
            allow=[*(text for text in self.allow if text not in later.deny), *exceptions],
            signs={label: sign for label, sign in signs.items() if sign != "any"},
            locked=[(*pair, weight) for pair, weight in locked.items() if weight is not None],
        )
        for one in later.denied:
            # Exceptions are from all denials: this one would change nothing. Products have none.
            if one.literal is not None and not one.is_product and both.denial_of(one.block, one.literal) is None:
                by = [has.text for has in both.allowed if has.is_of(one.block) and has.matches(one.literal)]
                raise ValueError(
                    f"Constraints: {one.text!r} is denied, but also allowed, by {listed(by)}. Deny these patterns too "
                    f"(leave out those that are to be allowed now), and allow by other names what else they allow."
                )
        return both

    def check(self, owner: str, labels: Collection[str], blocks: Collection[str]) -> None:
        """Raise a ValueError if there is no such label or block, or a product is allowed."""
        if product := next((pattern.text for pattern in self.allowed if pattern.is_product), None):
            raise ValueError(
                f"{owner} The constraints allow the product {product!r}, which they do not deny. Allow its items. "
                f"In another name with × in it, write ? for ×."
            )
        self.check_labels(owner, labels)
        for text in self.names:
            block = Pattern(text).block
            if block is not None and block not in blocks:
                raise ValueError(
                    f"{owner} The constraints name the block {block!r} in {text!r}, which does not exist."
                    f"{did_you_mean(block, blocks)} The blocks: {listed(blocks)}. A name that contains {BLOCK_SIGN!r} "
                    f"is written '*{BLOCK_SIGN}{text}'."
                )

    def check_labels(self, owner: str, labels: Collection[str]) -> None:
        """Raise a ValueError for a label that does not exist, also where something is taken back."""
        for label in [*(label for label, _ in self.signs), *(label for _, label, _ in self.locked)]:
            if label not in labels:
                raise ValueError(
                    f"{owner} The constraints name the label {label!r}, which does not exist."
                    f"{did_you_mean(label, labels)} The labels: {listed(labels)}."
                )

    def described(self) -> list[str]:
        """What holds, in a few words each."""
        texts = [f"denied: {', '.join(self.deny)}"] if self.deny else []
        texts += [f"allowed: {', '.join(self.allow)}"] if self.allow else []
        texts += [f"{label}: only {sign} weights" for label, sign in self.one_sided.items()]
        return texts + [f"{name}: locked at {weight:+g} for {label}" for name, label, weight in self.locks]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for configs and JSON."""
        return {
            "deny": list(self.deny),
            "allow": list(self.allow),
            "signs": [list(pair) for pair in self.signs],
            "locked": [list(lock) for lock in self.locked],
        }


@graft_constraints("spacy_graft.Constraints.v1")
def constraints_of_config(
    deny: Sequence[str] = (), allow: Sequence[str] = (), signs: Any = (), locked: Any = ()
) -> Constraints:
    """Make :class:`Constraints` from options that a config has, and must have again when it is saved and loaded.

    Raises
    ------
    ValueError
        As of the class; or if a name or a label cannot be a key in a config: then give rows.
    """
    if isinstance(signs, Mapping):
        require_keys("Constraints", "signs", signs, 'pairs, such as signs = [["label", "positive"]]')
    if isinstance(locked, Mapping):
        require_keys("Constraints", "locked", locked, 'rows, such as locked = [["name", "label", 1.5]]')
    return Constraints(deny=deny, allow=allow, signs=signs, locked=locked)


def checked_signs(signs: Any) -> tuple[tuple[str, str], ...]:
    """Labels with their signs; a ValueError if these are none."""
    pairs = list(signs.items()) if isinstance(signs, Mapping) else listed_rows("signs", signs, 2)
    for label, sign in pairs:
        if not isinstance(label, str) or sign not in SIGNS_OF_LABELS:
            raise ValueError(
                f"Constraints: signs must have a label, as a string, and one of {listed(SIGNS_OF_LABELS)}, but has "
                f"{label!r} and {sign!r}."
            )
    if twice := repeated(label for label, _ in pairs):
        raise ValueError(f"Constraints: signs has a label twice: {listed(twice)}. Give it one sign.")
    return tuple((label, sign) for label, sign in pairs)


def checked_locks(locked: Any) -> tuple[tuple[str, str, float | None], ...]:
    """Names, labels and weights; a ValueError if these are none."""
    if isinstance(locked, Mapping):
        if not all(isinstance(by_label, Mapping) for by_label in locked.values()):
            raise ValueError(
                f"Constraints: locked must have weights by label, by name of a feature, but is {locked!r}."
            )
        rows = [(name, label, weight) for name, by_label in locked.items() for label, weight in by_label.items()]
    else:
        rows = listed_rows("locked", locked, 3)
    for name, label, weight in rows:
        is_weight = weight is None or is_number_in(weight, -LARGEST_WEIGHT, LARGEST_WEIGHT)
        if not isinstance(name, str) or not name or not isinstance(label, str) or not is_weight:
            raise ValueError(
                f"Constraints: locked must have the name of a feature, a label, both as strings, and a weight from "
                f"{-LARGEST_WEIGHT:g} to {LARGEST_WEIGHT:g}, but has {name!r}, {label!r} and {weight!r}."
            )
    if twice := repeated((name, label) for name, label, _ in rows):
        name, label = twice[0]
        raise ValueError(f"Constraints: locked has {name!r} twice for {label!r}. Give it one weight.")
    return tuple((name, label, None if weight is None else float(weight)) for name, label, weight in rows)


def repeated(values: Iterable[RepeatedT]) -> list[RepeatedT]:
    """The values that are there more than once."""
    return [value for value, count in Counter(values).items() if count > 1]


def listed_rows(option: str, value: Any, width: int) -> list[Any]:
    """Rows of a list; a ValueError if it is none."""
    is_list = isinstance(value, Sequence) and not isinstance(value, str)
    if not is_list or not all(isinstance(row, list | tuple) and len(row) == width for row in value):
        raise ValueError(f"Constraints: {option} must be a mapping, or a list of lists of {width}, but is {value!r}.")
    return list(value)


@dataclass(frozen=True)
class FeatureNames:
    """What names of features are needed for.

    Attributes
    ----------
    texts : callable
        Returns the names of n-grams or items of a block, as models show them: ``(block, symbols) -> texts``.
    required : frozenset of str
        Patterns and names of the constraints for which it is an error that there is no such feature; for others there
        is a warning.
    wanted : mapping of str to collection of str
        By block, names of features that are looked up besides (:attr:`~spacy_graft.graft.space.FeatureSpace.found`).
    """

    texts: Callable[[str, Stream], list[str]]
    required: frozenset[str] = frozenset()
    wanted: Mapping[str, Collection[str]] = field(default_factory=dict)
    #: What has been found in the indexes that several fits share.
    shared: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)
