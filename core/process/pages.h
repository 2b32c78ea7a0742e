/* core/process/pages.h - what the admin's clients are shown: metrics, status, connections */
#ifndef CORE_PROCESS_PAGES_H
#define CORE_PROCESS_PAGES_H

#include "core/base/text.h"
#include "core/process/process.h"

/* All [main]. Prometheus' text format 0.0.4. */
void page_metrics(struct process *process, struct text *text);
/* A few lines for people. */
void page_status(struct process *process, struct text *text);
/* JSON: the connections that the workers have now, or the first of them when they are many. False:
 * a worker is too busy to say. */
bool page_connections(struct process *process, struct text *text);

#endif
