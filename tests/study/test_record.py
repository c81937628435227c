"""A record is one line that says by itself whether it is whole."""

import hashlib
import json

import pytest

from squentropy.study.record import REQUIRED, CorruptFileError, dump_record, load_record

RECORD = {
    "schema": 1,
    "run_id": "0123456789abcdef",
    "run": {
        "task": "iris",
        "scale": "small",
        "loss": {"name": "rescaled_square", "M": 5},
        "seed": 3,
        "recipe": {"epochs": 2},
    },
    "paper_row": "Table 1: Iris",
    "status": "done",
    "error": None,
    "metric": {"name": "accuracy", "higher_is_better": True},
    "metrics": {"last": {"accuracy": 0.1 + 0.2}, "best": {"epoch": 1, "accuracy": 1 / 3}},
    "curves": {"epoch": [1, 2], "train_loss": [0.5, 5e-324]},
    "data": {"name": "iris", "sha256": "00"},
    "environment": {"torch": "2.13.0"},
    "predictions": None,
}
# Written by the first version; every later one must read it.
GOLDEN = (
    b'{"schema":1,"run_id":"0123456789abcdef","run":{"task":"iris","scale":"small","loss":{"name":"rescaled_square","M":5},'
    b'"seed":3,"recipe":{"epochs":2}},"paper_row":"Table 1: Iris",'
    b'"status":"done","error":null,"metric":{"name":"accuracy","higher_is_better":true},'
    b'"metrics":{"last":{"accuracy":0.30000000000000004},"best":{"epoch":1,"accuracy":0.3333333333333333}},'
    b'"curves":{"epoch":[1,2],"train_loss":[0.5,5e-324]},"data":{"name":"iris","sha256":"00"},'
    b'"environment":{"torch":"2.13.0"},"predictions":null,'
    b'"checksum":"368fd16ca2c62e658182a6f8c30b0da81a7be2db7c5322614dfe8f79b7e92ab6"}\n'
)


def test_golden():
    assert dump_record(RECORD) == GOLDEN
    assert load_record(GOLDEN, "golden") == RECORD


def test_the_checksum_is_that_of_sha256sum():
    text, _, rest = GOLDEN.decode().rpartition(',"checksum":"')
    assert rest == hashlib.sha256(text.encode()).hexdigest() + '"}\n'
    assert json.loads(GOLDEN)["checksum"] == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_json_cannot_say_is_refused(value):
    with pytest.raises(ValueError, match="JSON"):
        dump_record({**RECORD, "metrics": {"last": {"nll": value}}})


def test_every_changed_byte_is_noticed():
    for position in range(len(GOLDEN)):
        changed = bytearray(GOLDEN)
        changed[position] ^= 1
        with pytest.raises(CorruptFileError):
            load_record(bytes(changed), "changed")


@pytest.mark.parametrize("length", [0, 1, 100, len(GOLDEN) // 2, len(GOLDEN) - 1])
def test_torn(length):
    with pytest.raises(CorruptFileError, match=r"^torn\.json .*move it away"):
        load_record(GOLDEN[:length], "torn.json")


def test_two_records_glued_together_are_none():
    with pytest.raises(CorruptFileError):
        load_record(GOLDEN + GOLDEN, "glued")


def test_a_later_version_is_refused_by_name():
    with pytest.raises(CorruptFileError, match="has schema 2, this version reads 1"):
        load_record(dump_record({**RECORD, "schema": 2}), "later")


@pytest.mark.parametrize("name", [name for name in REQUIRED if name != "schema"])
def test_a_part_that_is_missing_is_named(name):
    part = {key: value for key, value in RECORD.items() if key != name}
    with pytest.raises(CorruptFileError, match=f"lacks {name}"):
        load_record(dump_record(part), "part")
