"""Several float64 side by side, written like one: what the compiler does not vectorise by itself.

`Lanes` of 8 hold the same number of 8 users, `Lanes` of 16 the same number of 16 items. Arithmetic
is lane by lane, each operation rounded as in scalar code, so results have the same bits. LLVM maps
them to whatever the processor has.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, overload, register_model

from faircascade.engine.cpu.records import ITEMS, USERS

_DOUBLE = ir.DoubleType()
_INT = ir.IntType(32)


class LanesType(types.Type):
    """The type of a row of `width` float64."""

    def __init__(self, width: int) -> None:
        super().__init__(name=f"Lanes({width})")
        self.width = width

    @property
    def vector(self) -> ir.VectorType:
        return ir.VectorType(_DOUBLE, self.width)


@register_model(LanesType)
class LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: LanesType) -> None:
        super().__init__(manager, kind, kind.vector)


def _place(context: Any, builder: Any, kind: Any, array: Any, at: Any, vector: Any) -> Any:
    """Return the address of lanes that begin at an index of a flat array."""
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [at]), vector.as_pointer())


def _memory(width: int) -> tuple[Any, Any, Any]:
    lanes = LanesType(width)

    @intrinsic
    def load(typing: Any, array: Any, at: Any) -> Any:
        """Read lanes from array[at], array[at + 1], ..."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            array, at = arguments
            place = _place(context, builder, signature.args[0], array, at, lanes.vector)
            read = builder.load(place)
            read.align = 8
            return read

        return lanes(array, types.intp), generate

    @intrinsic
    def store(typing: Any, array: Any, at: Any, value: Any) -> Any:
        """Write lanes to array[at], array[at + 1], ..."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            array, at, value = arguments
            place = _place(context, builder, signature.args[0], array, at, lanes.vector)
            builder.store(value, place).align = 8
            return context.get_dummy_value()

        return types.void(array, types.intp, lanes), generate

    @intrinsic
    def splat(typing: Any, value: Any) -> Any:
        """Return lanes that all hold one number."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            nothing = ir.Constant(lanes.vector, ir.Undefined)
            one = builder.insert_element(nothing, arguments[0], ir.Constant(_INT, 0))
            everywhere = ir.Constant(ir.VectorType(_INT, width), [0] * width)
            return builder.shuffle_vector(one, nothing, everywhere)

        return lanes(types.float64), generate

    return load, store, splat


load_users, store_users, splat_users = _memory(USERS)
load_items, store_items, splat_items = _memory(ITEMS)


def _function(name: str) -> Any:
    """Return one of LLVM's functions of one number, lane by lane."""

    @intrinsic
    def function(typing: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            vector = value.vector
            kind = ir.FunctionType(vector, [vector])
            called = f"llvm.{name}.v{value.width}f64"
            return builder.call(
                cgutils.get_or_insert_function(builder.module, kind, called), arguments
            )

        return value(value), generate

    return function


square_root = _function("sqrt")
nearest = _function("rint")


@intrinsic
def at_least_zero(typing: Any, value: Any) -> Any:
    """Replace negative lanes by 0."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        zero = ir.Constant(value.vector, [0.0] * value.width)
        below = builder.fcmp_ordered("<", arguments[0], zero)
        return builder.select(below, zero, arguments[0])

    return value(value), generate


def _choice(comparison: str) -> Any:
    """Return the lane-wise choice of one of two numbers by comparing them."""

    @intrinsic
    def choose(typing: Any, left: Any, right: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            left, right = arguments
            return builder.select(builder.fcmp_ordered(comparison, left, right), left, right)

        return left(left, left), generate

    return choose


larger = _choice(">")
smaller = _choice("<")


@intrinsic
def where_below(typing: Any, value: Any, bound: Any, chosen: Any) -> Any:
    """Return `chosen` in lanes where value < bound, and 0 elsewhere."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        left, right, chosen = arguments
        zero = ir.Constant(value.vector, [0.0] * value.width)
        return builder.select(builder.fcmp_ordered("<", left, right), chosen, zero)

    return value(value, value, value), generate


@intrinsic
def lanes_reaching(typing: Any, value: Any, bound: Any) -> Any:
    """Return the lanes where value >= bound as bits, the first one lowest."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        reach = builder.fcmp_ordered(">=", *arguments)
        bits = builder.bitcast(reach, ir.IntType(value.width))
        return builder.zext(bits, ir.IntType(64))

    return types.int64(value, value), generate


@intrinsic
def first_lane(typing: Any, lanes: Any) -> Any:
    """Return the lowest bit that is set, of bits that are not all 0."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.int64), generate


def _operator(python: Callable[..., Any], instruction: str) -> None:
    @intrinsic
    def lane_by_lane(typing: Any, left: Any, right: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return getattr(builder, instruction)(*arguments)

        return left(left, left), generate

    @overload(python, strict=False)
    def of_lanes(left: Any, right: Any) -> Any:
        if isinstance(left, LanesType) and left == right:
            return lambda left, right: lane_by_lane(left, right)
        return None


for _python, _instruction in (
    (operator.add, "fadd"),
    (operator.sub, "fsub"),
    (operator.mul, "fmul"),
    (operator.truediv, "fdiv"),
):
    _operator(_python, _instruction)
