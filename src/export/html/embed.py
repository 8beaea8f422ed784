#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Makes the page into C: embed.py OUTPUT page.html page.css SCRIPT.js...

Style and scripts are put into the page, with a Content-Security-Policy that lets exactly them run. Where the tool
puts its data the page is cut into three: head, middle, tail.
"""
import base64
import hashlib
import sys


def digest(text):
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def read(path):
    with open(path, encoding='utf-8') as f:
        return f.read()


def put(page, mark, text):
    if page.count(mark) != 1:
        sys.exit(f'embed.py: {mark} must stand in the page once')
    return page.replace(mark, text)


def as_c(name, text):
    data = text.encode()
    lines = ''.join(','.join(map(str, data[i:i + 32])) + ',\n' for i in range(0, len(data), 32))
    return f'const char html_page_{name}[] = {{\n{lines}}};\nconst size_t html_page_{name}_len = {len(data)};\n'


def main():
    output, page_path, style_path, *script_paths = sys.argv[1:]
    style = '\n' + read(style_path)
    # one scope of its own: nothing becomes a global by accident
    script = '\n"use strict";\n(() => {\n' + ''.join(map(read, script_paths)) + '})();\n'
    if '</script' in script.lower() or '</style' in style.lower():
        sys.exit('embed.py: a source would end its own element')
    policy = f"default-src 'none'; script-src {digest(script)}; style-src {digest(style)}; img-src data:; " \
             "base-uri 'none'; form-action 'none'"
    page = read(page_path)
    page = put(page, '@POLICY@', policy)
    page = put(page, '@STYLE@', style)
    page = put(page, '@SCRIPT@', script)
    head, rest = page.split('@COLUMNS@')
    middle, tail = rest.split('@FACTS@')
    with open(output, 'w', encoding='ascii') as f:
        f.write('#include "export/html_page.h"\n\n' + '\n'.join(
            as_c(n, t) for n, t in (('head', head), ('middle', middle), ('tail', tail))))


main()
