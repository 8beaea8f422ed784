// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/async_task.h"

void async_task_give_names(struct finding *f)
{
}
