"""`decode=` as options of `.format("headrace")`: decode.value.format, decode.value.schema, ..., decode.key.format, ..., decode.mode.

Runs in: Spark's driver. Spark passes names in lower case; errors have the documented spelling.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from headrace.spark.decoding.avro_records import avro
from headrace.spark.decoding.csv_records import csv
from headrace.spark.decoding.decode_plan import MODES, SOURCES, DecodePlan, decode_plan
from headrace.spark.decoding.decoder import Decoder
from headrace.spark.decoding.json_records import json
from headrace.spark.decoding.protobuf_records import protobuf
from headrace.spark.decoding.text_records import text
from headrace.spark.options import DECODE_PREFIX

MODE = "decode.mode"


def decode_from_options(given: Mapping[str, str]) -> DecodePlan | None:
    """The plan that options ask for, None without any; `given` by names in lower case.

    raises   ValueError, naming option, value and reason; ImportError, if a format needs a package that is not installed
    """
    own = {name.removeprefix(DECODE_PREFIX): value for name, value in given.items() if name.startswith(DECODE_PREFIX)}
    if not own:
        return None
    mode = own.pop("mode", "fail").strip().lower()
    if mode not in MODES:
        raise ValueError(f"option {MODE} {mode!r} must be one of {', '.join(MODES)}")
    by_source: dict[str, dict[str, str]] = {}
    for name, value in own.items():
        source, _dot, key = name.partition(".")
        if source not in SOURCES or not key:
            raise ValueError(
                f"option {DECODE_PREFIX}{name} is unknown: expected decode.mode, decode.value.* or decode.key.*"
            )
        by_source.setdefault(source, {})[key] = value
    if not by_source:
        raise ValueError(f"option {MODE} {mode!r} needs decode.value.format or decode.key.format")
    return decode_plan({source: _decoder(source, by_source[source]) for source in SOURCES if source in by_source}, mode)


def _decoder(source: str, own: Mapping[str, str]) -> Decoder:
    name = f"{DECODE_PREFIX}{source}"
    given = own.get("format", "").strip().lower()
    if not given:
        raise ValueError(f"option {name}.format must be set: one of {', '.join(_FORMATS)}")
    if given not in _FORMATS:
        raise ValueError(f"option {name}.format {own['format']!r} must be one of {', '.join(_FORMATS)}")
    required, optional, make = _FORMATS[given]
    for key in own:
        if key != "format" and key not in (*required, *optional):
            takes = ", ".join((*required, *optional)) or "no other option"
            raise ValueError(f"option {name}.{key} does not apply to format {given}, which takes {takes}")
    missing = [key for key in required if not own.get(key, "").strip()]
    if missing:
        raise ValueError(f"option {name}.{missing[0]} must be set for format {given}")
    try:
        return make(own)
    except (ValueError, TypeError, OSError) as failure:
        raise ValueError(f"options {name}.*: {failure}") from None


def _flag(own: Mapping[str, str], key: str) -> bool:
    word = own.get(key, "false").strip().lower()
    if word not in ("true", "false"):
        raise ValueError(f"{key} {own[key]!r} must be true or false")
    return word == "true"


def _json(own: Mapping[str, str]) -> Decoder:
    return json(own["schema"], prefix=own.get("prefix", ""), confluent=_flag(own, "confluent"))


def _csv(own: Mapping[str, str]) -> Decoder:
    return csv(own["schema"], delimiter=own.get("delimiter", ","), prefix=own.get("prefix", ""))


def _text(_own: Mapping[str, str]) -> Decoder:
    return text()


def _avro(own: Mapping[str, str]) -> Decoder:
    return avro(
        own.get("schema"), registry=own.get("registry.url"), subject=own.get("subject"), prefix=own.get("prefix", "")
    )


def _protobuf(own: Mapping[str, str]) -> Decoder:
    return protobuf(
        own.get("descriptor"),
        own.get("message", ""),
        registry=own.get("registry.url"),
        subject=own.get("subject"),
        prefix=own.get("prefix", ""),
    )


_Make = Callable[[Mapping[str, str]], Decoder]
# format -> options it needs, options it takes, what makes it
_FORMATS: dict[str, tuple[tuple[str, ...], tuple[str, ...], _Make]] = {
    "json": (("schema",), ("prefix", "confluent"), _json),
    "csv": (("schema",), ("delimiter", "prefix"), _csv),
    "text": ((), (), _text),
    "avro": ((), ("schema", "registry.url", "subject", "prefix"), _avro),
    "protobuf": ((), ("descriptor", "message", "registry.url", "subject", "prefix"), _protobuf),
}
