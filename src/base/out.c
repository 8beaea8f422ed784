// SPDX-License-Identifier: MIT OR Apache-2.0
#include "base/out.h"

#include <errno.h>

#include "base/io.h"

void out_init(struct out *o, int fd)
{
	*o = (struct out){ .buf = STRBUF_INIT, .fd = fd };
}

void out_flush(struct out *o)
{
	if (!o->error && o->buf.len && io_write_all(o->fd, o->buf.s, o->buf.len))
		o->error = errno;
	o->written += o->buf.len;
	strbuf_reset(&o->buf);
}

int out_release(struct out *o, struct err *e)
{
	out_flush(o);
	strbuf_release(&o->buf);
	if (!o->error)
		return 0;
	errno = o->error;
	return err_sys(e, "cannot write the output");
}
