// SPDX-License-Identifier: MIT OR Apache-2.0
/* A library with nothing of interest in it. */
int nothing(void);

int nothing(void)
{
	return 0;
}
