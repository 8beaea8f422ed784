// SPDX-License-Identifier: MIT OR Apache-2.0
/* The page, made of export/html/ by embed.py when the tool is built: columns stand between head and
 * middle, facts between middle and tail. */
#ifndef EXPORT_HTML_PAGE_H
#define EXPORT_HTML_PAGE_H

#include <stddef.h>

extern const char html_page_head[], html_page_middle[], html_page_tail[];
extern const size_t html_page_head_len, html_page_middle_len, html_page_tail_len;

#endif
