/* SPDX-License-Identifier: Apache-2.0 */
/* A program with ONNX Runtime, and without us: inject_ort_program SCENE */
#include <signal.h>
#include <string.h>

#include "tests/support/ort_program.h"

static void sessions(void)
{
    void *first, *second, *none = NULL;
    double sum = 0;

    printf("%p\n", (const void *)OrtGetApiBase()->get_api(99));
    printf("%s %d\n", OrtGetApiBase()->version(), OrtGetApiBase()->get_api(17) == ort_api);
    printf("%s\n", (const char *)ort_create("/models/broken.onnx", &none));
    ort_create("/models/first.onnx", &first);
    ort_create_from("bytes", 5, &second);
    for (int i = 0; i < 5; i++)
        sum += ort_run(first, i);
    for (int i = 0; i < 3; i++)
        sum += ort_run(second, i);
    printf("%g %p %s\n", sum, ort_run_with_binding(first, first),
           (const char *)ort_run_with_binding(first, NULL));
    printf("%s\n", ((const char *(*)(void))ort_api[0])());
    ort_release(first);
    ort_release(second);
    ort_create("/models/third.onnx", &first); /* at one of these addresses, most likely */
    ort_run(first, 1);
    ort_release(first);
}

static void *run_often(void *session)
{
    for (int i = 0; i < 250; i++)
        ort_run(session, i);
    return NULL;
}

static void threads(void)
{
    pthread_t ids[4];
    void *session;

    ort_create("/models/shared.onnx", &session);
    for (int i = 0; i < 4; i++)
        pthread_create(&ids[i], NULL, run_often, session);
    for (int i = 0; i < 4; i++)
        pthread_join(ids[i], NULL);
    ort_release(session);
}

static void killed(void)
{
    void *session;

    ort_create("/models/killed.onnx", &session);
    for (int i = 0; i < 100; i++)
        ort_run(session, i);
    raise(SIGKILL);
}

int main(int argc, char **argv)
{
    ort_api = OrtGetApiBase()->get_api(17);
    if (!ort_api)
        return 1;
    if (strcmp(argv[1], "sessions") == 0)
        sessions();
    else if (strcmp(argv[1], "threads") == 0)
        threads();
    else
        killed();
    return 0;
}
