"""The one walk that evaluates a tree, over any arithmetic: arrays of floats, pairs of floats, balls."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from functools import reduce
from operator import add, mul
from typing import Generic, TypeVar

from holokern.activation.tree.nodes import Call, Cases, Constant, Node, Number, Power, Product, Sum, Variable

T = TypeVar("T")


class Arithmetic(ABC, Generic[T]):
    """What a kind of numbers must be able to do so that trees can be evaluated on it."""

    def value(self, node: Node, x: T) -> T:
        """The value of the tree where u is ``x``."""
        match node:
            case Variable():
                return x
            case Number(value):
                return self.number(value, x)
            case Constant(name):
                return self.constant(name, x)
            case Sum(terms):
                return self.total([self.value(term, x) for term in terms])
            case Product(factors):
                return self.product(factors, x)
            case Power(base, exponent):
                return self.power(base, exponent, x)
            case Call():
                return self.call(node, x)
            case Cases():
                return self.cases(node, x)

    @abstractmethod
    def number(self, value: Fraction, x: T) -> T:
        """A rational number, shaped as ``x`` where shape matters."""

    @abstractmethod
    def constant(self, name: str, x: T) -> T:
        """The constant ``pi`` or ``E``."""

    def total(self, terms: list[T]) -> T:
        """The sum, left to right."""
        return reduce(add, terms)

    def product(self, factors: tuple[Node, ...], x: T) -> T:
        """The product of the factors at ``x``, left to right."""
        return reduce(mul, [self.value(factor, x) for factor in factors])

    @abstractmethod
    def power(self, base: Node, exponent: Node, x: T) -> T:
        """The power at ``x``."""

    @abstractmethod
    def call(self, node: Call, x: T) -> T:
        """The function applied at ``x``."""

    @abstractmethod
    def cases(self, node: Cases, x: T) -> T:
        """The branch that holds at ``x``."""
