/* SPDX-License-Identifier: Apache-2.0 */
/* Owners and command lines. */
#include "daemon/privacy.h"

#include <string.h>
#include <unistd.h>

#include "base/secret.h"
#include "daemon/memory.h"

bool privacy_is_trusted(uid_t uid)
{
    return uid == 0 || uid == geteuid();
}

bool privacy_may_see(uid_t peer, uid_t owner)
{
    return peer == owner || privacy_is_trusted(peer);
}

char *privacy_hide_command(struct ot_wire_hello_view *hello, bool keeps_commands)
{
    struct ot_text *command = &hello->texts.command;
    char *copy;

    if (!keeps_commands)
        *command = (struct ot_text){0};
    if (command->length == 0)
        return NULL;
    copy = memory_zeroed(command->length, 1);
    memcpy(copy, command->bytes, command->length);
    command->length = ot_secret_mask(copy, command->length, false);
    command->bytes = copy;
    return copy;
}
