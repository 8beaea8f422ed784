# SPDX-License-Identifier: MIT OR Apache-2.0
"""What futrace writes in binary, as text that can be compared and read."""
import base64
import gzip
import itertools
import json
import re
import sqlite3
import struct
import textwrap

# Messages by name: number of a field -> its name, and the message in it or how to show it. The names are those of the
# .proto files of Perfetto and pprof.
PERFETTO = {
    'Trace': {1: ('packet', 'TracePacket')},
    'TracePacket': {6: ('clock_snapshot', 'ClockSnapshot'), 8: ('timestamp', int), 10: ('trusted_packet_sequence_id', int),
                    11: ('track_event', 'TrackEvent'), 12: ('interned_data', 'InternedData'), 13: ('sequence_flags', int),
                    59: ('trace_packet_defaults', 'Defaults'), 60: ('track_descriptor', 'TrackDescriptor')},
    'Defaults': {58: ('timestamp_clock_id', int)},
    'ClockSnapshot': {1: ('clocks', 'Clock'), 2: ('primary_trace_clock', int)},
    'Clock': {1: ('clock_id', int), 2: ('timestamp', int)},
    'TrackDescriptor': {1: ('uuid', int), 2: ('name', str), 3: ('process', 'Process'), 4: ('thread', 'Thread'),
                        5: ('parent_uuid', int), 8: ('counter', 'Counter'), 11: ('child_ordering', int),
                        12: ('sibling_order_rank', int), 14: ('description', str)},
    'Process': {1: ('pid', int), 2: ('cmdline', str), 6: ('process_name', str)},
    'Thread': {1: ('pid', int), 2: ('tid', int), 5: ('thread_name', str)},
    'Counter': {6: ('unit_name', str)},
    'TrackEvent': {3: ('category_iids', int), 4: ('debug_annotations', 'DebugAnnotation'), 9: ('type', int),
                   10: ('name_iid', int), 11: ('track_uuid', int), 23: ('name', str), 30: ('counter_value', int),
                   34: ('source_location_iid', int), 44: ('double_counter_value', float), 47: ('flow_ids', 'fixed'),
                   48: ('terminating_flow_ids', 'fixed'), 52: ('correlation_id', int)},
    'DebugAnnotation': {1: ('name_iid', int), 2: ('bool_value', int), 3: ('uint_value', int), 4: ('int_value', int),
                        5: ('double_value', float), 6: ('string_value', str),
                        10: ('name', str), 17: ('string_value_iid', int)},
    'InternedData': {1: ('event_categories', 'Interned'), 2: ('event_names', 'Interned'),
                     3: ('debug_annotation_names', 'Interned'), 4: ('source_locations', 'SourceLocation'),
                     29: ('debug_annotation_string_values', 'Interned')},
    'Interned': {1: ('iid', int), 2: ('name', str)},
    'SourceLocation': {1: ('iid', int), 2: ('file_name', str), 3: ('function_name', str), 4: ('line_number', int)},
}
PPROF = {
    'Profile': {1: ('sample_type', 'ValueType'), 2: ('sample', 'Sample'), 3: ('mapping', 'Mapping'), 4: ('location', 'Location'),
                5: ('function', 'Function'), 6: ('string_table', str), 7: ('drop_frames', int), 9: ('time_nanos', int),
                10: ('duration_nanos', int), 11: ('period_type', 'ValueType'), 12: ('period', int), 13: ('comment', 'packed'),
                14: ('default_sample_type', int)},
    'ValueType': {1: ('type', int), 2: ('unit', int)},
    'Sample': {1: ('location_id', 'packed'), 2: ('value', 'packed'), 3: ('label', 'Label')},
    'Label': {1: ('key', int), 2: ('str', int), 3: ('num', int), 4: ('num_unit', int)},
    'Mapping': {1: ('id', int), 5: ('filename', int), 6: ('build_id', int), 7: ('has_functions', int), 8: ('has_filenames', int),
                9: ('has_line_numbers', int)},
    'Location': {1: ('id', int), 2: ('mapping_id', int), 4: ('line', 'Line')},
    'Line': {1: ('function_id', int), 2: ('line', int)},
    'Function': {1: ('id', int), 2: ('name', int), 3: ('system_name', int), 4: ('filename', int), 5: ('start_line', int)},
}


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7f) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def fields(data):
    """Number, wire type and value of each field of a message."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        wire = key & 7
        if wire == 0:
            value, at = varint(data, at)
        elif wire == 2:
            length, at = varint(data, at)
            value, at = data[at:at + length], at + length
        else:
            length = {1: 8, 5: 4}[wire]
            value, at = data[at:at + length], at + length
        if at > len(data):
            raise ValueError('a field is longer than its message')
        yield key >> 3, wire, value


def number(value):
    """Of a double, as much as is the same on every machine."""
    return float(f'{value:.6g}') if isinstance(value, float) else value


def unpack(data):
    at = 0
    while at < len(data):
        value, at = varint(data, at)
        yield value


def show_value(wire, value, how, schema):
    if isinstance(how, str) and how in schema:
        return '{ ' + ' '.join(show_fields(value, schema, how)) + ' }'
    if wire == 2:
        return '[' + ', '.join(map(str, unpack(value))) + ']' if how == 'packed' else \
            json.dumps(value.decode(), ensure_ascii=False)  # a string must be UTF-8
    if wire == 0:
        return str(value)
    return str(struct.unpack('<d' if how is float else '<Q' if wire == 1 else '<I', value)[0])


def show_fields(data, schema, message):
    for nr, wire, value in fields(data):
        name, how = schema[message][nr]  # an unknown one is an error: the table above must name it
        yield f'{name}: {show_value(wire, value, how, schema)}'


def parse(data, schema, message):
    """A message as a dict of lists."""
    result = {}
    for nr, wire, value in fields(data):
        name, how = schema[message][nr]
        is_message = isinstance(how, str) and how in schema
        result.setdefault(name, []).append(
            parse(value, schema, how) if is_message else value.decode() if wire == 2 else value if wire == 0 else
            number(struct.unpack('<d' if how is float else '<Q', value)[0]))
    return result


class Perfetto:
    """A line for each packet. Names are put where only their numbers stand: one that was not defined is an error."""
    TYPES = {1: 'begin', 2: 'end', 3: 'instant', 4: 'counter'}

    def __init__(self):
        self.interned = {}

    def define(self, data):
        for table, entries in data.items():
            for entry in entries:
                iid = entry.pop('iid')[0]
                text = ' '.join(str(v[0]) for v in entry.values())
                self.interned[table, iid] = text
                yield f'define {table} {iid} {quoted(text)}'

    def named(self, event, table, key):
        return [self.interned[table, iid] for iid in event.pop(key, [])]

    def annotation(self, a):
        name = (a.pop('name', None) or self.named(a, 'debug_annotation_names', 'name_iid'))[0]
        value = self.named(a, 'debug_annotation_string_values', 'string_value_iid') or a.popitem()[1]
        return f'{name}={quoted(value[0]) if isinstance(value[0], str) else value[0]}'

    def event(self, event):
        words = [self.TYPES[event.pop('type')[0]], f'track {event.pop("track_uuid")[0]}']
        words += self.named(event, 'event_categories', 'category_iids')
        words += map(quoted, event.pop('name', []) + self.named(event, 'event_names', 'name_iid'))
        words += map(quoted, self.named(event, 'source_locations', 'source_location_iid'))
        words += map(self.annotation, event.pop('debug_annotations', []))
        return ' '.join(words + [f'{k} {" ".join(map(str, v))}' for k, v in event.items()])

    def packet(self, packet):
        flags = packet.pop('sequence_flags', []), packet.pop('trusted_packet_sequence_id', [])
        if flags != ([2], [1]):
            yield f'sequence flags {flags[0]}, id {flags[1]}'
        for data in packet.pop('interned_data', []):
            yield from self.define(data)
        time = packet.pop('timestamp', ['-'])[0]
        for event in packet.pop('track_event', []):
            yield f'{time} {self.event(event)}'
        for name, values in packet.items():
            yield f'{name} {json.dumps(values[0], ensure_ascii=False)}'


def quoted(text):
    return json.dumps(text, ensure_ascii=False)


def join_alike(lines, pattern):
    """Of lines that match and have the same first group, one after the other, the second and third are put on one."""
    for key, group in itertools.groupby(lines, lambda line: (m := re.fullmatch(pattern, line)) and m['what']):
        group = list(group)
        yield from group[:1] if key else group
        if key and len(group) > 1:
            pairs = (re.fullmatch(pattern, line) for line in group[1:])
            yield textwrap.fill(' then ' + ' '.join(f'{m["time"]}={m["value"]}' for m in pairs), 150, subsequent_indent=' ')


def perfetto(data):
    p = Perfetto()
    lines = (line for packet in parse(data, PERFETTO, 'Trace')['packet'] for line in p.packet(packet))
    return '\n'.join(join_alike(lines, r'(?P<time>\d+) (?P<what>counter .*) (?P<value>\S+)')) + '\n'


def chrome(data):
    json.loads(data)  # all of it is JSON
    pattern = r'(?P<what>{"ph":"C","name":"[^"]*").*"ts":(?P<time>[\d.]+),"args":{"\w+":(?P<value>[\d.e-]+)}},?'
    return '\n'.join(join_alike(data.decode().split('\n'), pattern))


def pprof(data):
    return '\n'.join(show_fields(gzip.decompress(data), PPROF, 'Profile')) + '\n'


def sqlite(path):
    return '\n'.join(sqlite3.connect(path).iterdump()) + '\n'


def pretty(value, indent=0, width=150):
    """JSON with as much on a line as goes there."""
    line = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, (list, dict)) or len(line) + indent <= width:
        return line
    space = '\n' + ' ' * (indent + 1)
    if isinstance(value, dict):
        parts = [f'{quoted(k)}: {pretty(v, indent + 1, width)}' for k, v in value.items()]
        return '{' + space + (',' + space).join(parts) + '}'
    return '[' + space + (',' + space).join(pretty(v, indent + 1, width) for v in value) + ']'


def in_runs(values):
    """[0, 0, 0, 5] is "0×3 5"."""
    runs = [(v, len(list(group))) for v, group in itertools.groupby(values)]
    return textwrap.fill(' '.join(f'{v}×{n}' if n > 1 else str(v) for v, n in runs), 150, subsequent_indent=' ')


def as_json(text):
    return pretty(json.loads(text)) + '\n'


def html_parts(page):
    """What surrounds the data in a page: before the columns, between, after the facts; and the two."""
    head, rest = page.split(' id="columns">')
    columns, rest = rest.split('</script>', 1)
    middle, rest = rest.split(' id="facts">')
    facts, tail = rest.split('</script>', 1)
    return (head, middle, tail), columns, facts


def html_column(data, width, nr):
    """Bytes of one kind lie together, in blocks."""
    block, values, at = 32768, [], 0
    for first in range(0, nr, block):
        n = min(block, nr - first)
        rows = zip(*(data[at + byte * n:at + byte * n + n] for byte in range(width)))
        values += [number(struct.unpack('<d', bytes(r))[0]) if width == 8 else int.from_bytes(bytes(r), 'little') for r in rows]
        at += n * width
    return values


def html(page):
    """The facts, then the columns."""
    _, columns, facts = html_parts(page)
    facts = json.loads(facts)
    data, at, lines = gzip.decompress(base64.b64decode(columns)), 0, []
    for name, width, nr in facts['columns']:
        lines.append(f'{name}: {in_runs(html_column(data[at:at + width * nr], width, nr))}'.rstrip())
        at += width * nr
    if at != len(data):
        raise ValueError('the columns are not what the facts say')
    return pretty(facts) + '\n' + '\n'.join(lines) + '\n'
