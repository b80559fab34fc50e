"""A client as its broker sees it: takes its calls, gives it what it subscribed to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tyrex.network.blocks import ID, NUMBER, ORIGIN, SEPARATOR, TIME, Block
from tyrex.network.columns import pack_block, unpack_block
from tyrex.network.control.sources import RefusedError
from tyrex.network.outputs import Kind, Note
from tyrex.network.sockets.calls import UNASKED, Call, arguments, read_call, unpack_type
from tyrex.network.sockets.connection import Connection
from tyrex.tesla.types import AttributeType, EventType

if TYPE_CHECKING:
    import pyarrow as pa

    from tyrex.network.sockets.broker import Broker


class Guest:
    """A client that is connected."""

    def __init__(self, name: str, connection: Connection, broker: Broker) -> None:
        self.name = name
        self.missed = 0
        """Events that it has not got, since it was too slow."""
        self._untold = 0
        self._connection = connection
        self._broker = broker

    async def serve(self) -> None:
        """Answer calls until the client goes."""
        while (content := await self._connection.receive()) is not None:
            number, what, given = read_call(content)
            if what is Call.PUBLISH:
                await self._broker.room()
            try:
                answer: list[Any] = [number, "ok", self._call(what, given)]
                if what is Call.ADVERTISE:
                    await self._broker.learned(given[0][0])
            except RefusedError as error:
                answer = [number, "error", str(error)]
            self._tell_missed()
            self._connection.send(answer)
            await self._connection.drained()

    def _call(self, what: Call, given: list[Any]) -> Any:
        now, processor = self._broker.now(), self._broker.processor
        value: Any = None
        match what:
            case Call.ADVERTISE:
                type_ = unpack_type(*arguments(given, list))
                attributes = tuple(AttributeType(name, kind) for name, kind in type_.attributes)
                outputs = processor.advertise(now, self.name, EventType(type_.name, attributes))
            case Call.PUBLISH:
                packed, stamp = arguments(given, list, bool)
                block = unpack_block(packed)
                table = plain_table(block, now if stamp else None)
                outputs = processor.publish(now, self.name, block.type, table)
                late = sum(o.events for o in outputs if isinstance(o, Note) and o.kind is Kind.LATE)
                value = [len(block) - late, late]
            case Call.ADVANCE:
                outputs = processor.advance(now, self.name, *arguments(given, int))
            case Call.SUBSCRIBE:
                outputs = processor.subscribe(now, self.name, *arguments(given, int, str))
            case Call.UNSUBSCRIBE:
                outputs = processor.unsubscribe(now, self.name, *arguments(given, int))
            case Call.DEFINE:
                name, text, raced = arguments(given, str, str, bool)
                outputs = processor.define(now, self.name, name, text, raced=raced)
            case Call.UNDEFINE:
                outputs = processor.undefine(now, self.name, *arguments(given, str))
            case _:
                arguments(given)
                return self._broker.status()
        refusals = [
            o.text
            for o in outputs
            if isinstance(o, Note) and o.kind is Kind.REFUSED and o.client == self.name
        ]
        self._broker.carry_out(o for o in outputs if not (isinstance(o, Note) and o.text in refusals))
        if refusals:
            raise RefusedError("; ".join(refusals))
        return value

    def _is_refusal(self, note: Note) -> bool:
        return note.kind is Kind.REFUSED and note.client == self.name

    def deliver(self, subscription: int, block: Block) -> None:
        """Send events, or count them as missed if too much is waiting already."""
        if self._connection.waiting > self._broker.settings.client_limit:
            self.missed += len(block)
            self._untold += len(block)
            return
        self._tell_missed()
        self._connection.send([UNASKED, "found", subscription, pack_block(block)])

    def note(self, note: Note) -> None:
        """Tell the client what the broker noticed of what it did."""
        self._connection.send([UNASKED, "note", str(note.kind), note.text, note.events])

    def _tell_missed(self) -> None:
        if self._untold:
            self._connection.send([UNASKED, "missed", self._untold])
            self._untold = 0


def plain_table(block: Block, time: int | None = None) -> pa.Table:
    """The columns of a block that came from a client, who knows nothing of origins and numbers, and maybe of time."""
    import pyarrow as pa

    table = block.table.drop_columns([ORIGIN, NUMBER])
    if time is not None:
        place = table.column_names.index(TIME)
        table = table.set_column(place, TIME, pa.repeat(pa.scalar(time, pa.int64()), len(table)))
    return table.rename_columns(
        [name.removeprefix(SEPARATOR) if name != ID else ID for name in table.column_names]
    )
