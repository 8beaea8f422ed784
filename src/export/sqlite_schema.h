// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The tables of the SQLite export. Columns are only ever added at the end of a table; anything else
 * is a new version. Times are ns since the start of the recording. NULL is not known, or none.
 */
#ifndef EXPORT_SQLITE_SCHEMA_H
#define EXPORT_SQLITE_SCHEMA_H

#define SQLITE_SCHEMA_VERSION 1

static const char sqlite_schema[] =
	"CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;"
	"CREATE TABLE runtime (id INTEGER PRIMARY KEY, name TEXT, version TEXT, object TEXT,"
	" scheduler TEXT, copy INTEGER);"
	/* group_id: what people take for one type; name is a list where candidates > 1 */
	"CREATE TABLE type (id INTEGER PRIMARY KEY, name TEXT, group_id INTEGER,"
	" candidates INTEGER, kind TEXT, runtime_id INTEGER, file TEXT, line INTEGER,"
	" size_bytes INTEGER);"
	"CREATE TABLE thread (id INTEGER PRIMARY KEY, tid INTEGER, name TEXT, kind TEXT,"
	" runtime_id INTEGER, polls INTEGER, busy_ns INTEGER, asleep_ns INTEGER, sleeps INTEGER,"
	" blocked_ns INTEGER, blocks INTEGER);"
	/* nr tells tasks apart; ids repeat across runtimes */
	"CREATE TABLE task (nr INTEGER PRIMARY KEY, id INTEGER, name TEXT, runtime_id INTEGER,"
	" type_id INTEGER, kind TEXT, parent_id INTEGER, parent_type_id INTEGER,"
	" spawn_exact INTEGER, spawn_ns INTEGER, end_ns INTEGER,"
	" \"end\" TEXT, polls INTEGER, busy_ns INTEGER, sched_ns INTEGER,"
	" idle_ns INTEGER, unknown_ns INTEGER, max_poll_ns INTEGER, max_sched_ns INTEGER,"
	" blocked_ns INTEGER, max_blocked_ns INTEGER, wakes INTEGER, self_wakes INTEGER,"
	" path_id INTEGER);" /* where it stands that still waits */
	"CREATE TABLE cause (id INTEGER PRIMARY KEY, name TEXT);"
	"CREATE TABLE poll (task_nr INTEGER, thread_id INTEGER, start_ns INTEGER, dur_ns INTEGER,"
	" blocked_ns INTEGER, sched_ns INTEGER, idle_ns INTEGER, cause_id INTEGER,"
	" waker_id INTEGER, waker_type_id INTEGER, is_drop INTEGER, is_open INTEGER,"
	" path_id INTEGER);" /* where the task stood before it */
	/* futures on the way from a task down to what it waits for; outer_id: that awaits it */
	"CREATE TABLE step (id INTEGER PRIMARY KEY, outer_id INTEGER, state TEXT,"
	" is_generated INTEGER, future TEXT, function TEXT, file TEXT, line INTEGER,"
	" last_line INTEGER, leaf TEXT, is_foreign INTEGER);"
	/* the innermost steps of each path; and the lines that its waits belong to */
	"CREATE TABLE path_step (path_id INTEGER, step_id INTEGER);"
	"CREATE TABLE path_await (path_id INTEGER, step_id INTEGER);"
	"CREATE TABLE wake (task_nr INTEGER, time_ns INTEGER, cause_id INTEGER,"
	" thread_id INTEGER, waker_id INTEGER, waker_type_id INTEGER);"
	/* inner futures whose polls were recorded one by one, and these; depth: of those around it
	 * in one run; is_recursive: one of them is of the same future */
	"CREATE TABLE future (id INTEGER PRIMARY KEY, name TEXT, function TEXT, file TEXT,"
	" line INTEGER, is_generated INTEGER, seen TEXT);"
	"CREATE TABLE future_poll (future_id INTEGER, task_nr INTEGER, thread_id INTEGER,"
	" start_ns INTEGER, dur_ns INTEGER, self_ns INTEGER, depth INTEGER, result TEXT,"
	" is_recursive INTEGER, is_open INTEGER);"
	/* the program's own; fields are JSON */
	"CREATE TABLE mark (name TEXT, id INTEGER, time_ns INTEGER, task_nr INTEGER,"
	" thread_id INTEGER, fields TEXT);"
	"CREATE TABLE span (name TEXT, id INTEGER, start_ns INTEGER, dur_ns INTEGER,"
	" task_nr INTEGER, thread_id INTEGER, end_thread_id INTEGER, fields TEXT,"
	" is_open INTEGER);"
	"CREATE TABLE finding (rank INTEGER PRIMARY KEY, rule TEXT, severity TEXT,"
	" type_id INTEGER, task_id INTEGER, thread_id INTEGER, time_ns INTEGER, span_ns INTEGER,"
	" what TEXT, advice TEXT);"
	"CREATE VIEW v_task AS SELECT t.*, y.name AS type, y.file, y.line FROM task t"
	" LEFT JOIN type y ON y.id = t.type_id;"
	"CREATE VIEW v_poll AS SELECT p.start_ns, p.dur_ns, p.blocked_ns, p.sched_ns, p.idle_ns,"
	" t.id AS task_id, y.name AS type, y.file, y.line, h.tid, h.name AS thread,"
	" c.name AS cause, p.waker_id, p.is_drop, p.is_open FROM poll p JOIN task t ON t.nr = p.task_nr"
	" LEFT JOIN type y ON y.id = t.type_id LEFT JOIN thread h ON h.id = p.thread_id"
	" LEFT JOIN cause c ON c.id = p.cause_id;"
	"CREATE VIEW v_slow_polls AS SELECT * FROM v_poll WHERE NOT is_drop"
	" ORDER BY dur_ns DESC LIMIT 100;"
	"CREATE VIEW v_delayed_polls AS SELECT * FROM v_poll WHERE NOT is_drop"
	" ORDER BY sched_ns DESC LIMIT 100;"
	"CREATE VIEW v_type AS SELECT y.group_id, min(y.name) AS type, t.kind,"
	" count(*) AS tasks, sum(t.\"end\" = 'alive') AS alive, sum(t.polls) AS polls,"
	" sum(t.busy_ns) AS busy_ns, sum(t.sched_ns) AS sched_ns, sum(t.idle_ns) AS idle_ns,"
	" max(t.max_poll_ns) AS max_poll_ns, sum(t.wakes) AS wakes,"
	" sum(t.self_wakes) AS self_wakes FROM task t LEFT JOIN type y ON y.id = t.type_id"
	" GROUP BY y.group_id, t.kind ORDER BY busy_ns DESC;"
	"CREATE VIEW v_wake AS SELECT min(wy.name) AS waker_type, c.name AS cause,"
	" min(y.name) AS type, count(*) AS wakes FROM wake w JOIN task t ON t.nr = w.task_nr"
	" LEFT JOIN type y ON y.id = t.type_id LEFT JOIN cause c ON c.id = w.cause_id"
	" LEFT JOIN type wy ON wy.id = w.waker_type_id"
	" GROUP BY wy.group_id, w.cause_id, y.group_id ORDER BY wakes DESC;"
	"CREATE VIEW v_await AS SELECT s.function, s.file, s.line, count(*) AS waits,"
	" count(DISTINCT p.task_nr) AS tasks, sum(p.idle_ns + p.sched_ns) AS wait_ns,"
	" sum(p.sched_ns) AS sched_ns, max(p.idle_ns + p.sched_ns) AS max_wait_ns,"
	" sum(p.is_drop) AS dropped FROM poll p JOIN path_await a ON a.path_id = p.path_id"
	" JOIN step s ON s.id = a.step_id GROUP BY s.id ORDER BY wait_ns DESC;"
	"CREATE VIEW v_still_waiting AS SELECT s.function, s.file, s.line, count(*) AS tasks"
	" FROM task t JOIN path_await a ON a.path_id = t.path_id"
	" JOIN step s ON s.id = a.step_id GROUP BY s.id ORDER BY tasks DESC;"
	"CREATE VIEW v_future_poll AS SELECT p.start_ns, p.dur_ns, p.self_ns, f.name AS future,"
	" f.function, f.file, f.line, t.id AS task_id, y.name AS type, h.tid, h.name AS thread,"
	" p.depth, p.result, p.is_open FROM future_poll p LEFT JOIN future f ON f.id = p.future_id"
	" LEFT JOIN task t ON t.nr = p.task_nr LEFT JOIN type y ON y.id = t.type_id"
	" LEFT JOIN thread h ON h.id = p.thread_id;"
	/* a type may have several functions that poll it */
	"CREATE VIEW v_future AS SELECT f.name AS future, min(f.function) AS function,"
	" min(f.file) AS file, min(f.line) AS line, max(f.seen) AS seen, count(*) AS polls,"
	" count(CASE p.result WHEN 'ready' THEN 1 END) AS ready,"
	" count(CASE p.result WHEN 'unwound' THEN 1 END) AS unwound,"
	" sum(CASE WHEN p.is_recursive THEN 0 ELSE p.dur_ns END) AS poll_ns,"
	" sum(p.self_ns) AS self_ns, max(p.dur_ns) AS max_poll_ns FROM future_poll p"
	" JOIN future f ON f.id = p.future_id GROUP BY f.name ORDER BY poll_ns DESC;"
	"CREATE VIEW v_finding AS SELECT f.rank, f.severity, f.rule, y.name AS type, y.file,"
	" y.line, f.task_id, h.tid, h.name AS thread, f.time_ns, f.span_ns, f.what, f.advice"
	" FROM finding f LEFT JOIN type y ON y.id = f.type_id"
	" LEFT JOIN thread h ON h.id = f.thread_id ORDER BY f.rank;";

#endif
