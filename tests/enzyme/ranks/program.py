"""Building a module, operation by operation, with what each gives and what it must give."""

from dataclasses import dataclass

import numpy as np
from checks import same
from lowering import AFTER, compile, lower
from types_and_operations import MLIR


@dataclass(frozen=True)
class Value:
    name: str
    type: str


def tensor(shape, element) -> str:
    return f"tensor<{''.join(f'{n}x' for n in shape)}{element}>"


class Program:
    """A function of arrays. Operations are done in the order in which they are added: see after()."""

    def __init__(self):
        self.body, self.arguments, self.results = [], [], []
        self.named = 0
        self.last = self.constant(0)

    def argument(self, array) -> Value:
        array = np.asarray(array)
        value = Value(f"%arg{len(self.arguments)}", tensor(array.shape, MLIR[array.dtype.name]))
        self.arguments.append((value, array))
        return value

    def line(self, text, *types) -> list[Value]:
        """An operation as it is written, without its results."""
        values = [Value(f"%v{self.named + i}", type) for i, type in enumerate(types)]
        self.named += len(types)
        self.body.append(", ".join(value.name for value in values) + " = " * bool(values) + text)
        return values

    def constant(self, number, type="tensor<i32>") -> Value:
        return self.line(f"stablehlo.constant dense<{number}> : {type}", type)[0]

    def packed(self, numbers) -> Value:
        """Numbers as one array."""
        one, all = "tensor<1xi32>", f"tensor<{len(numbers)}xi32>"
        rows = [self.line(f"stablehlo.reshape {number.name} : ({number.type}) -> {one}", one)[0].name for number in numbers]
        types = ", ".join([one] * len(rows))
        return self.line(f"stablehlo.concatenate {', '.join(rows)}, dim = 0 : ({types}) -> {all}", all)[0]

    def mpi(self, operation, *operands, gives=(), **attributes) -> list[Value]:
        """An enzymexla.mpi operation; attributes: datatype, op."""
        named = ", ".join(f"{name} = #enzymexla.{name}<MPI_{value}>" for name, value in attributes.items())
        types = ", ".join(value.type for value in operands)
        values = ", ".join(value.name for value in operands)
        text = f'"enzymexla.mpi.{operation}"({values}) {f"<{{{named}}}>" * bool(named)} : ({types}) -> ({", ".join(gives)})'
        return self.line(text, *gives)

    def number(self, n) -> Value:
        """n, as an operand of an operation that is to be done after those that after() has been told of."""
        return self.then(self.constant(n))

    def then(self, number) -> Value:
        """The number, known only when the last of them is done: XLA orders calls by their operands alone."""
        call = f"stablehlo.custom_call @{AFTER}({number.name}, {self.last.name}) {{api_version = 3 : i32}}"
        return self.line(f"{call} : ({number.type}, {self.last.type}) -> {number.type}", number.type)[0]

    def after(self, value) -> None:
        """Later operations that take a number() are done after the one that gives this value."""
        self.last = value

    def wants(self, value, wanted, what) -> None:
        """The value is a result, and must be this."""
        self.results.append((value, np.asarray(wanted), what))

    def text(self) -> str:
        parameters = ", ".join(f"{value.name}: {value.type}" for value, _ in self.arguments)
        types = ", ".join(value.type for value, _, _ in self.results)
        names = ", ".join(value.name for value, _, _ in self.results)
        end = f"return {names} : {types}" if self.results else "return"
        return "\n".join(["module {", f"func.func @main({parameters}) -> ({types}) {{", *self.body, end, "}", "}"])

    def compile(self):
        """Lowered and compiled: a function that runs it and gives its results."""
        function = compile(lower(self.text()))
        return lambda: function([array for _, array in self.arguments])

    def compare(self, results) -> None:
        for got, (_, wanted, what) in zip(results, self.results, strict=True):
            same(got, wanted, what)

    def run(self, times=1) -> None:
        run = self.compile()
        for _ in range(times):
            self.compare(run())
