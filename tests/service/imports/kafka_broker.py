"""A broker for tests: the one that librdkafka brings along, with real ports on the loopback.

It keeps topics, groups and offsets in memory, for clients in any process. Python has no names for
it, so it is reached through the library itself.
"""

from __future__ import annotations

import ctypes
import importlib.util
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Self

import pytest

_SESSION_MILLISECONDS = 1000


def _library() -> Path | None:
    spec = importlib.util.find_spec("confluent_kafka")
    if spec is None or spec.origin is None:
        return None
    site = Path(spec.origin).parents[1]
    return next(iter((site / "confluent_kafka.libs").glob("librdkafka*.so*")), None)


LIBRARY = _library()
needs_kafka = pytest.mark.skipif(
    LIBRARY is None, reason="confluent-kafka with its own librdkafka is not installed"
)


class KafkaBroker:
    """One broker; a member of a group that is killed is missed after a second.

    Of a partition it keeps the last 5 MB.
    """

    def __init__(self) -> None:
        if LIBRARY is None:
            raise RuntimeError("confluent-kafka with its own librdkafka is not installed")
        self._kafka = ctypes.CDLL(str(LIBRARY))
        for name in ("rd_kafka_new", "rd_kafka_mock_cluster_new"):
            getattr(self._kafka, name).restype = ctypes.c_void_p
        self._kafka.rd_kafka_mock_cluster_bootstraps.restype = ctypes.c_char_p
        reason = ctypes.create_string_buffer(512)
        self._client = ctypes.c_void_p(
            self._kafka.rd_kafka_new(0, None, reason, ctypes.c_size_t(len(reason)))
        )
        if not self._client:
            raise RuntimeError(reason.value.decode())
        self._cluster = ctypes.c_void_p(self._kafka.rd_kafka_mock_cluster_new(self._client, 1))
        self._kafka.rd_kafka_mock_group_initial_rebalance_delay_ms(self._cluster, 0)

    @property
    def address(self) -> str:
        """Host and port."""
        found = self._kafka.rd_kafka_mock_cluster_bootstraps(self._cluster)
        assert isinstance(found, bytes)
        return found.decode()

    def source(self, topic: str, group: str = "import") -> str:
        """Return the address of a topic for `faircascade import`."""
        session = f"session.timeout.ms={_SESSION_MILLISECONDS}&heartbeat.interval.ms=200"
        return f"kafka://{self.address}/{topic}?group={group}&{session}"

    def make_topic(self, topic: str, partitions: int) -> None:
        """Add an empty topic."""
        self._kafka.rd_kafka_mock_topic_create(self._cluster, topic.encode(), partitions, 1)

    def produce(self, topic: str, messages: Iterable[tuple[str, bytes]]) -> None:
        """Add messages with their keys."""
        from confluent_kafka import Producer

        producer = Producer({"bootstrap.servers": self.address, "linger.ms": 5})
        for key, text in messages:
            producer.produce(topic, text, key=key)
            producer.poll(0)
        assert producer.flush(30) == 0

    def messages(self, topic: str) -> Sequence[bytes]:
        """Return all that a topic has."""
        from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition

        consumer = Consumer(
            {"bootstrap.servers": self.address, "group.id": "reader", "enable.partition.eof": True}
        )
        try:
            partitions = consumer.list_topics(topic, timeout=10).topics[topic].partitions
            consumer.assign([TopicPartition(topic, n, OFFSET_BEGINNING) for n in partitions])
            found: list[bytes] = []
            ended: set[int] = set()
            while ended < set(partitions):
                for message in consumer.consume(1000, timeout=0.2):
                    error = message.error()
                    if error is None:
                        found.append(message.value())
                    elif error.code() == KafkaError._PARTITION_EOF:
                        ended.add(message.partition())
            return found
        finally:
            consumer.close()

    def close(self) -> None:
        """End it; what it held is gone."""
        self._kafka.rd_kafka_mock_cluster_destroy(self._cluster)
        self._kafka.rd_kafka_destroy(self._client)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
