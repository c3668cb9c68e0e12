/* SPDX-License-Identifier: Apache-2.0 */
/* A program that is linked with CTranslate2: inject_ctranslate2_program_N [leave|die]. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/fake_ctranslate2.h"

/* From deeper in the stack than where the step begins that follows. */
static __attribute__((noinline)) void step_deeper(long step, jmp_buf *leave)
{
    volatile char room[4096];

    room[0] = 1;
    fake_ctranslate2_step(step, 0, leave);
    room[1] = room[0];
}

int PyInit_net(const char *what);

int PyInit_net(const char *what)
{
    jmp_buf leave;

    fake_ctranslate2_product();
    for (long i = 0; i < 5; i++)
        printf("%ld\n", fake_ctranslate2_step(i, 0, NULL));
    if (strcmp(what, "die") == 0)
        raise(SIGKILL);
    for (volatile int i = 0; i < 3 && strcmp(what, "leave") == 0; i++) {
        if (setjmp(leave) != 0)
            continue;
        if (i == 1)
            step_deeper(i, &leave);
        else
            fake_ctranslate2_step(i, 0, &leave);
    }
    printf("%ld\n", fake_ctranslate2_step(7, 1, NULL));
    fake_ctranslate2_encode();
    return 0;
}

int main(int argc, char **argv)
{
    return PyInit_net(argc > 1 ? argv[1] : "");
}
