/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The same subcommand on several hosts at once, by `ssh HOST optrace SUBCOMMAND --follow ...`:
 * connect to all, measure how far their clocks are off, then tell all to go, with one and the same
 * time to begin. OPTRACE_SSH is another command in place of ssh.
 */
#ifndef OPTRACE_CLIENT_CLI_HOSTS_H
#define OPTRACE_CLIENT_CLI_HOSTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/options.h"

enum {
    HOSTS_SECONDS = 30,     /* until a host must be ready, and then until it must be done */
    HOSTS_LEAD_SECONDS = 2, /* between "go" and the common time */
    HOSTS_PINGS = 5,        /* to measure a clock; the quickest counts */
    HOSTS_MAX = 512,
};

/* Words for the far end; they are quoted for its shell. */
struct hosts_words {
    const char **items;
    size_t count;
    size_t capacity;
};

struct hosts_job {
    const struct option_command *command; /* "optrace start" */
    const struct option_list *hosts;      /* as given: "a,b", "c" */
    struct hosts_words words;             /* further arguments, borrowed */
    bool has_time;                        /* the hosts are to begin at the same time */
    const char *at;                       /* --at; NULL: HOSTS_LEAD_SECONDS after all are ready */
    bool is_json;                         /* each answers with JSON, to be put into one */
};

/** Run it, print what the hosts say, each line behind the host's name. Returns the exit status: the
 *  worst of the hosts', EXIT_SYSTEM for one that could not be reached. */
int hosts_run(const struct hosts_job *job);

#endif
