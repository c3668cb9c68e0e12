/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What looks like a secret in a command line, replaced by "***". docs/privacy.md has the rule in
 * prose; it rather hides too much than too little. No state, no allocation, any thread.
 */
#ifndef OPTRACE_BASE_SECRET_H
#define OPTRACE_BASE_SECRET_H

#include <stdbool.h>
#include <stddef.h>

/**
 * Mask a command line in place. What was masked already stays as it is; well-formed UTF-8 stays
 * well-formed. A secret becomes "***", one of one or two bytes as many stars, so that the text
 * never grows.
 *
 * text           `length` bytes, not terminated
 * has_arguments  arguments end in NUL, as in /proc/PID/cmdline: a value may then hold spaces.
 *                Else they were joined by spaces
 *
 * Returns the new length, `length` at most.
 */
size_t ot_secret_mask(char *text, size_t length, bool has_arguments);

#endif
