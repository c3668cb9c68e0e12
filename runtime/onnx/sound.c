/* SPDX-License-Identifier: Apache-2.0 */
/* Which texts a model may have. */
#include <string.h>

#include "base/text.h"
#include "runtime/onnx/node.h"

bool model_text_is_sound(const char *text)
{
    for (const char *c = text; *c != '\0'; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            return false;
    }
    return text_is_utf8(text, strlen(text));
}
