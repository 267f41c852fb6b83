"""A topic of Kafka, or of what speaks its protocol, read as a member of a group."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from faircascade.installation import install_command
from faircascade.service.imports.events import Record, Refusal
from faircascade.service.imports.refusals import refused_line
from faircascade.service.imports.sources.address import StreamAddress
from faircascade.service.imports.sources.base import EventSource, SourceDown, SourceOptions
from faircascade.service.imports.sources.registry import register_source

if TYPE_CHECKING:
    from confluent_kafka import Consumer, KafkaError, Message, Producer

log = logging.getLogger(__name__)

WAIT_SECONDS = 0.5
ANSWER_SECONDS = 10.0
FIND_SECONDS = 3.0
LONGEST_MESSAGE = 900_000
"""Bytes; clients and brokers take a million unless they are told otherwise."""
_SHOWN = 1_000
_FOR_ALL = ("security.", "sasl.", "ssl.", "client.", "socket.", "broker.")
"""How the names of properties begin that are for consumers and producers alike."""


@register_source("kafka")
class KafkaSource(EventSource):
    """Messages of the partitions that the group gives to this consumer, each in its order.

    The group keeps the offsets. Any property of librdkafka may stand in the address.
    """

    address_form = "kafka://HOST:9092/TOPIC?group=NAME"

    def __init__(
        self,
        servers: str,
        *,
        topic: str,
        group: str,
        endless: bool = True,
        properties: dict[str, str] | None = None,
    ) -> None:
        try:
            from confluent_kafka import Consumer
        except ModuleNotFoundError:
            raise ValueError(f"Kafka needs confluent-kafka: {install_command('kafka')}") from None
        self.topic, self.group = topic, group
        self.name = f"topic {topic!r}"
        self.endless = endless
        self.refused_place = f"{topic}.refused"
        own = {
            "bootstrap.servers": servers,
            "group.id": group,
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
        given = {"auto.offset.reset": "earliest", **(properties or {})}
        with _errors():
            self._consumer: Consumer = Consumer({**given, **own}, logger=_quiet())
        common = {name: text for name, text in given.items() if name.startswith(_FOR_ALL)}
        self._for_producer = {**common, "bootstrap.servers": servers, "enable.idempotence": True}
        self._producer: Producer | None = None
        self._ended: set[int] = set()  # partitions that were read to their end

    @classmethod
    def from_address(cls, address: str, options: SourceOptions) -> KafkaSource:
        given = StreamAddress(address, cls.address_form)
        if options.state is not None:
            raise ValueError("--state is for files; Kafka keeps the offsets of a group itself")
        topic = given.parts.path.strip("/")
        if not given.parts.netloc or not topic or "/" in topic or "@" in given.parts.netloc:
            raise given.wrong(f"must be {cls.address_form}")
        group = given.take("group")
        for name in given.rest:
            if "." not in name:
                raise given.wrong(
                    f"has the parameter {name!r}; there are group=NAME and properties of "
                    "librdkafka, such as security.protocol=SASL_SSL"
                )
        return cls(
            given.parts.netloc,
            topic=topic,
            group=group,
            endless=options.follow is not False,
            properties=given.rest,
        )

    async def open(self) -> None:
        await asyncio.to_thread(self._open)

    def _open(self) -> None:
        with _errors():
            found = self._consumer.list_topics(self.topic, timeout=FIND_SECONDS)
            error = found.topics[self.topic].error
            if error is not None:
                raise ValueError(f"topic {self.topic!r} cannot be read: {error.str()}")
            self._consumer.subscribe([self.topic], on_assign=self._on_assign)

    def _on_assign(self, consumer: Consumer, partitions: Any) -> None:
        self._ended.clear()

    async def read(self, most: int) -> Sequence[Record] | None:
        return await asyncio.to_thread(self._read, most)

    def _read(self, most: int) -> Sequence[Record] | None:
        with _errors():
            records = [
                self._record(message)
                for message in self._consumer.consume(most, timeout=WAIT_SECONDS)
                if not self._is_event_of_client(message)
            ]
            if not records and not self.endless:
                mine = {each.partition for each in self._consumer.assignment()}
                if mine and mine <= self._ended:
                    return None
        return records

    def _is_event_of_client(self, message: Message) -> bool:
        """Return whether it is no message, but something that the client has to say."""
        from confluent_kafka import KafkaError

        error, partition = message.error(), message.partition()
        if error is None:
            self._ended.discard(partition or 0)
            return False
        if error.code() == KafkaError._PARTITION_EOF:
            self._ended.add(partition or 0)
        else:
            _check(error)
            log.warning("Kafka: %s", error.str())
        return True

    def _record(self, message: Message) -> Record:
        at = f"{message.topic()}/{message.partition()}/{message.offset()}"
        place = (message.partition(), message.offset())
        text = message.value()
        if text is None:
            return Record(b"", at, place, "it is empty")
        return Record(text if isinstance(text, bytes) else text.encode(), at, place)

    async def commit(self, records: Sequence[Record], refusals: Sequence[Refusal]) -> None:
        await asyncio.to_thread(self._commit, records, refusals)

    def _commit(self, records: Sequence[Record], refusals: Sequence[Refusal]) -> None:
        from confluent_kafka import KafkaException, TopicPartition

        self._refuse(refusals)
        next_offsets: dict[int, int] = {}
        for record in records:
            partition, offset = record.position
            next_offsets[partition] = offset + 1
        places = [TopicPartition(self.topic, *place) for place in next_offsets.items()]
        with _errors():
            try:
                self._consumer.commit(offsets=places, asynchronous=False)
            except KafkaException as error:
                if error.args[0].code() not in _taken_over():
                    raise
                log.warning("another import has these partitions now, and sends some events again")

    def _refuse(self, refusals: Sequence[Refusal]) -> None:
        """Write what was refused to its topic, with the place of the event as the key."""
        if not refusals:
            return
        with _errors():
            if self._producer is None:
                from confluent_kafka import Producer

                self._producer = Producer(self._for_producer, logger=_quiet())
            faults: list[KafkaError] = []

            def delivered(error: KafkaError | None, _: Message) -> None:
                if error is not None:
                    faults.append(error)

            for refusal in refusals:
                self._producer.produce(
                    self.refused_place,
                    _message(refusal),
                    key=refusal.record.at,
                    on_delivery=delivered,
                )
                self._producer.poll(0)
            left = self._producer.flush(ANSWER_SECONDS)
        if left or faults:
            if left:
                self._producer.purge()
            why = faults[0].str() if faults else "no answer"
            raise SourceDown(f"{self.refused_place} cannot be written: {why}")

    async def close(self) -> None:
        await asyncio.to_thread(self._consumer.close)


def _message(refusal: Refusal) -> bytes:
    """Return a refusal as a message that a broker takes: of a long event only the beginning."""
    text = refused_line(refusal).rstrip(b"\n")
    if len(text) <= LONGEST_MESSAGE:
        return text
    shorter = replace(refusal.record, text=refusal.record.text[:_SHOWN])
    return _message(replace(refusal, record=shorter))


def _quiet() -> logging.Logger:
    """Return where the client logs; what matters is raised or told as well."""
    logger = logging.getLogger(f"{__name__}.client")
    logger.setLevel(logging.CRITICAL)
    return logger


def _taken_over() -> frozenset[int]:
    """Return the codes by which a group refuses a member that it let go."""
    from confluent_kafka import KafkaError

    return frozenset(
        {
            KafkaError.ILLEGAL_GENERATION,
            KafkaError.UNKNOWN_MEMBER_ID,
            KafkaError.REBALANCE_IN_PROGRESS,
            KafkaError._ASSIGNMENT_LOST,
        }
    )


def _check(error: KafkaError) -> None:
    """Raise what will not pass."""
    from confluent_kafka import KafkaError

    lasting = {
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError.SASL_AUTHENTICATION_FAILED,
        KafkaError._AUTHENTICATION,
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError._INVALID_ARG,
        KafkaError._FENCED,
        KafkaError.FENCED_INSTANCE_ID,
    }
    if error.fatal() or error.code() in lasting:
        raise ValueError(f"Kafka refuses: {error.str()}")


@contextmanager
def _errors() -> Iterator[None]:
    """Say of an error whether it may pass."""
    from confluent_kafka import KafkaException

    try:
        yield
    except KafkaException as error:
        _check(error.args[0])
        raise SourceDown(f"Kafka does not answer: {error.args[0].str()}") from None
