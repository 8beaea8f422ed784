# SPDX-License-Identifier: MIT OR Apache-2.0
# A thin front: meson and ninja build, scripts do the rest.
PREFIX ?= /usr/local
DESTDIR ?=
MESON = meson setup --libdir=lib
WERROR = $(if $(filter true,$(CI)),-Dwerror=true)

# futrace, its agent and its manual pages; tests are built by what runs them
all: build/build.ninja
	@ninja -C build program

build/build.ninja:
	@$(MESON) --prefix=$(PREFIX) $(WERROR) build

setup: ; @tools/setup test

demo:
	@tools/setup demo
	@tools/demo

test:
	@tools/setup test
	@tests/run

# Longer tests: whole test suites of other projects under `futrace record`, with --futures too, and in a memory cgroup of 256 MB
# (needs root); kill -9 and SIGSTOP at random moments; every release, flavour and build of a runtime, 300 runs of each completion
# race, all that a tracer could break; await trees in every build; servers under load, also alone; published programs, with
# sanitizers in the tool.
test-suites: all ; @tools/setup test && tests/run suites
test-suites-futures: all ; @tools/setup test && tests/run suites_futures
test-suites-small: all ; @tools/setup test && tests/run suites_small
test-kill: all ; @tools/setup test && tests/run kill
test-matrix: all ; @tools/setup test && tests/run matrix safety
test-trees: all ; @tools/setup test && tests/run trees
test-servers: all ; @tools/setup test && tests/run servers
test-corpus: all ; @tools/setup test && tests/run corpus

bench: build/build.ninja
	@tools/setup test && ninja -C build && bench/run

debug:
	@test -f build-debug/build.ninja || $(MESON) --buildtype=debug --optimization=0 build-debug
	@ninja -C build-debug

# The tool with AddressSanitizer and UBSan; the agent is never built with them.
sanitize: ; @tests/run asan

install: build/build.ninja
	@meson configure build -Dprefix=$(PREFIX) && ninja -C build program
	@meson install -C build --no-rebuild $(if $(DESTDIR),--destdir $(abspath $(DESTDIR)))

format:
	@tests/lint/check-format --fix

clean:
	rm -rf build build-debug build-asan build-fuzz

.PHONY: all setup demo test test-suites test-suites-futures test-suites-small test-kill test-matrix test-servers test-trees test-corpus bench debug sanitize install format clean
