/* SPDX-License-Identifier: Apache-2.0 */
/* A program with oneDNN 3, and without us. */
#include <stdio.h>

int dnnl_primitive_execute(const void *primitive, void *stream, int count, const void *arguments);
const void *fake_onednn_primitive(int place);

int main(void)
{
    int sum = 0;

    for (int i = 0; i < 20; i++)
        sum += dnnl_primitive_execute(fake_onednn_primitive(i % 2), NULL, i, NULL);
    printf("%d\n", sum);
    return 0;
}
