/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the variable once. */
#include "client/inject/nodes.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_once_t asked = PTHREAD_ONCE_INIT;
static uint32_t every = NODES_EVERY;

static void ask(void)
{
    const char *text = secure_getenv("OPTRACE_NODES");
    unsigned long count;
    char *end;

    if (!text || !text[0])
        return;
    if (strcmp(text, "off") == 0)
        every = 0;
    if (strcmp(text, "all") == 0)
        every = 1;
    if (strncmp(text, "1/", 2) != 0)
        return;
    count = strtoul(text + 2, &end, 10);
    if (end != text + 2 && !*end && count >= 1 && count <= UINT32_MAX)
        every = (uint32_t)count;
}

uint32_t nodes_every(void)
{
    pthread_once(&asked, ask);
    return every;
}
