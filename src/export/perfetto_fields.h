// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Numbers of the fields that futrace writes, by the files of Perfetto's protos/perfetto/ that
 * define them. A number once given never changes its meaning there.
 */
#ifndef EXPORT_PERFETTO_FIELDS_H
#define EXPORT_PERFETTO_FIELDS_H

/* trace/trace.proto: Trace */
enum { TRACE_PACKET = 1 };

/* trace/trace_packet.proto: TracePacket */
enum {
	PACKET_CLOCK_SNAPSHOT = 6,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE_ID = 10, /* trusted_packet_sequence_id */
	PACKET_TRACK_EVENT = 11,
	PACKET_INTERNED_DATA = 12,
	PACKET_SEQUENCE_FLAGS = 13,
	PACKET_DEFAULTS = 59, /* trace_packet_defaults */
	PACKET_TRACK_DESCRIPTOR = 60,
};
/* … SequenceFlags */
enum { SEQUENCE_CLEARED = 1, SEQUENCE_NEEDS_STATE = 2 };

/* trace/trace_packet_defaults.proto: TracePacketDefaults */
enum { DEFAULTS_CLOCK_ID = 58 };

/* trace/clock_snapshot.proto: ClockSnapshot, Clock; common/builtin_clock.proto */
enum { SNAPSHOT_CLOCK = 1 };
enum { CLOCK_ID = 1, CLOCK_TIMESTAMP = 2 };
enum { BUILTIN_REALTIME = 1, BUILTIN_MONOTONIC = 3, BUILTIN_BOOTTIME = 6 };
/* 64 to 127 are for whoever writes a sequence: this one counts from the start of the recording. */
enum { OWN_CLOCK = 64 };

/* trace/track_event/track_descriptor.proto: TrackDescriptor */
enum {
	TRACK_UUID = 1,
	TRACK_NAME = 2,
	TRACK_PROCESS = 3,
	TRACK_THREAD = 4,
	TRACK_PARENT = 5,
	TRACK_COUNTER = 8,
	TRACK_CHILD_ORDERING = 11,
	TRACK_RANK = 12, /* sibling_order_rank */
	TRACK_DESCRIPTION = 14,
};
enum { ORDERING_EXPLICIT = 3 };
/* process_descriptor.proto, thread_descriptor.proto, counter_descriptor.proto */
enum { PROCESS_PID = 1, PROCESS_CMDLINE = 2, PROCESS_NAME = 6 };
enum { THREAD_PID = 1, THREAD_TID = 2, THREAD_NAME = 5 };
enum { COUNTER_UNIT_NAME = 6 };

/* trace/track_event/track_event.proto: TrackEvent */
enum {
	EVENT_CATEGORY_IIDS = 3,
	EVENT_ARG = 4, /* debug_annotations */
	EVENT_TYPE = 9,
	EVENT_NAME_IID = 10,
	EVENT_TRACK = 11,
	EVENT_NAME = 23,
	EVENT_SOURCE_IID = 34, /* source_location_iid */
	EVENT_DOUBLE_COUNTER = 44,
	EVENT_FLOW_IDS = 47,
	EVENT_ENDING_FLOW_IDS = 48, /* terminating_flow_ids */
	EVENT_CORRELATION_ID = 52,
};
/* … Type */
enum { TYPE_SLICE_BEGIN = 1, TYPE_SLICE_END = 2, TYPE_INSTANT = 3, TYPE_COUNTER = 4 };

/* trace/track_event/debug_annotation.proto: DebugAnnotation */
enum {
	ARG_NAME_IID = 1,
	ARG_BOOL = 2,
	ARG_UINT = 3,
	ARG_INT = 4,
	ARG_DOUBLE = 5,
	ARG_STRING = 6,
	ARG_NAME = 10,
	ARG_STRING_IID = 17, /* string_value_iid */
};

/* trace/interned_data/interned_data.proto: InternedData */
enum {
	INTERNED_CATEGORIES = 1,
	INTERNED_EVENT_NAMES = 2,
	INTERNED_ARG_NAMES = 3,
	INTERNED_SOURCES = 4, /* source_locations */
	INTERNED_ARG_STRINGS = 29,
};
/* EventCategory, EventName, DebugAnnotationName, InternedString: all alike */
enum { INTERNED_IID = 1, INTERNED_TEXT = 2 };
/* trace/track_event/source_location.proto: SourceLocation */
enum { SOURCE_IID = 1, SOURCE_FILE = 2, SOURCE_FUNCTION = 3, SOURCE_LINE = 4 };

#endif
