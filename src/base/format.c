// SPDX-License-Identifier: MIT OR Apache-2.0
#include "base/format.h"

#include <stdio.h>

const char *format_span(uint64_t ns, char buf[FORMAT_SIZE])
{
	unsigned long long s = ns / 1000000000;

	if (ns < 1000)
		snprintf(buf, FORMAT_SIZE, "%lluns", (unsigned long long)ns);
	else if (ns < 999500)
		snprintf(buf, FORMAT_SIZE, "%.3gus", ns / 1e3);
	else if (ns < 999500000)
		snprintf(buf, FORMAT_SIZE, "%.3gms", ns / 1e6);
	else if (s < 100)
		snprintf(buf, FORMAT_SIZE, "%.3gs", ns / 1e9);
	else if (s < 3600)
		snprintf(buf, FORMAT_SIZE, "%llum%02llus", s / 60, s % 60);
	else
		snprintf(buf, FORMAT_SIZE, "%lluh%02llum", s / 3600, s / 60 % 60);
	return buf;
}

const char *format_bytes(uint64_t bytes, char buf[FORMAT_SIZE])
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	double value = bytes;
	unsigned unit = 0;

	while (value >= 1023.5 && unit + 1 < ARRAY_SIZE(units)) {
		value /= 1024;
		unit++;
	}
	snprintf(buf, FORMAT_SIZE, value < 10 && unit ? "%.1f%s" : "%.0f%s", value, units[unit]);
	return buf;
}

const char *format_count(uint64_t n, char buf[FORMAT_SIZE])
{
	if (n < 1000000)
		snprintf(buf, FORMAT_SIZE, "%llu", (unsigned long long)n);
	else if (n < UINT64_C(1000000000))
		snprintf(buf, FORMAT_SIZE, "%.4gM", n / 1e6);
	else
		snprintf(buf, FORMAT_SIZE, "%.4gG", n / 1e9);
	return buf;
}

const char *format_grouped(uint64_t n, char buf[FORMAT_SIZE])
{
	char plain[24];
	int len = snprintf(plain, sizeof(plain), "%llu", (unsigned long long)n), to = 0;

	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			buf[to++] = ',';
		buf[to++] = plain[i];
	}
	buf[to] = '\0';
	return buf;
}

const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}
