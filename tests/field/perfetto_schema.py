#!/usr/bin/env python3
"""A Perfetto export read with Perfetto's own schema: no field that it does not know, tracks with names and units, values those of the report.

    python3 -m venv env && env/bin/pip install perfetto protobuf && PLATEAU=build/release/bin/plateau env/bin/python tests/field/perfetto_schema.py RECORDING

The package has the schema; its trace processor is a program that it downloads when it is first used, from a host that is no package registry.
"""
import json
import os
import subprocess
import sys
import tempfile

from google.protobuf.unknown_fields import UnknownFieldSet
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as schema

PLATEAU = os.environ["PLATEAU"]


def unknown(message, path="Trace"):
    found = [f"{path}: field {field.field_number}" for field in UnknownFieldSet(message)]
    for field, value in message.ListFields():
        if field.message_type is not None:
            for part in value if field.is_repeated else [value]:
                found += unknown(part, f"{path}.{field.name}")
    return found


def main(recording):
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "trace")
        subprocess.run([PLATEAU, "export", recording, "-f", "perfetto", "-o", file], check=True, capture_output=True)
        report = json.loads(subprocess.run([PLATEAU, "report", recording, "--json", "-"], check=True, capture_output=True).stdout)
        trace = schema.Trace()
        with open(file, "rb") as data:
            trace.ParseFromString(data.read())
    assert trace.packet and unknown(trace) == [], unknown(trace)[:10]
    tracks = {packet.track_descriptor.uuid: packet.track_descriptor for packet in trace.packet if packet.HasField("track_descriptor")}
    last, phases = {}, 0
    for packet in trace.packet:
        if not packet.HasField("track_event"):
            continue
        event = packet.track_event
        assert event.track_uuid in tracks, "an event of no track"
        phases += event.type == event.TYPE_SLICE_BEGIN
        if event.type == event.TYPE_COUNTER:
            last[event.track_uuid] = event.counter_value or event.double_counter_value
    counters = [track for track in tracks.values() if track.HasField("counter")]
    names = [track.name for track in counters]
    assert len(set(names)) == len(names), "two tracks of one name"
    for track in counters:
        unit = track.counter.UNIT_COUNT if track.name == "step" else track.counter.UNIT_SIZE_BYTES
        assert track.counter.unit == unit, track.name
    by_name = {track.name: last[track.uuid] for track in counters if track.uuid in last}
    assert by_name["live"] == report["ledger"][-1]["live_bytes"] and by_name["rss"] == report["ledger"][-1]["rss_bytes"], by_name
    print(f"{len(trace.packet)} packets, {len(counters)} counters, {phases} slices; live {by_name['live']}, rss {by_name['rss']} as in the report")


if __name__ == "__main__":
    main(sys.argv[1])
