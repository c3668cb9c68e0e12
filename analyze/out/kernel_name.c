/* SPDX-License-Identifier: Apache-2.0 */
/* Names of C++ functions without what all have. */
#include "analyze/out/kernel_name.h"

#include <ctype.h>
#include <string.h>

static bool is_of_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$';
}

/* Where the parenthesis that the last character closes was opened; 0: nowhere behind a name. */
static size_t opening(const char *name, size_t length)
{
    size_t depth = 0;

    for (size_t at = length; at-- > 0;) {
        depth += name[at] == ')';
        depth -= name[at] == '(';
        if (!depth)
            return at && (is_of_name(name[at - 1]) || name[at - 1] == '>') ? at : 0;
    }
    return 0;
}

bool kernel_name_strip_signature(char *name)
{
    static const char nothing[] = "void ";
    const size_t skipped = strncmp(name, nothing, sizeof(nothing) - 1) == 0 ? strlen(nothing) : 0;
    size_t length = strlen(name), at;

    if (!length || name[length - 1] != ')')
        return false;
    at = opening(name, length);
    /* "file.py(81)" has a line, "RELU(conv)" what it was made of: neither is a signature. */
    if (at <= skipped || (!skipped && !strpbrk(name + at, "*&<")))
        return false;
    name[at] = '\0';
    memmove(name, name + skipped, at - skipped + 1);
    return true;
}

/* Bytes of "name::" or "(anonymous namespace)::" here. */
static size_t scope_length(const char *text)
{
    static const char anonymous[] = "(anonymous namespace)::";
    size_t length = 0;

    if (strncmp(text, anonymous, sizeof(anonymous) - 1) == 0)
        return sizeof(anonymous) - 1;
    while (is_of_name(text[length]))
        length++;
    if (!length || text[length] != ':' || text[length + 1] != ':')
        return 0;
    length += 2;
    return is_of_name(text[length]) || strncmp(text + length, anonymous, sizeof(anonymous) - 1) == 0
               ? length
               : 0;
}

bool kernel_name_strip_scopes(char *name)
{
    const char *from = name, *arguments = strchr(name, '<');
    char *to = name;

    if (!arguments || arguments == name || !is_of_name(arguments[-1]))
        return false;
    while (*from) {
        const bool is_start = to == name || !is_of_name(to[-1]);
        const size_t scope = is_start ? scope_length(from) : 0;

        if (scope)
            from += scope;
        else
            *to++ = *from++;
    }
    *to = '\0';
    return to != from;
}

bool kernel_name_is_head_first(const char *name)
{
    const char *arguments = strchr(name, '<');

    return arguments &&
           (arguments != name ? is_of_name(arguments[-1]) : strncmp(name, "<built-in", 9) == 0);
}
