/* SPDX-License-Identifier: Apache-2.0 */
/* NVIDIA's cuDNN is not loaded where libcuda lacks these; nobody here calls them. */

enum { SUCCESS = 0, NOT_FOUND = 500 };

extern "C" {

int cuGetErrorString(int, const char **out_text)
{
    *out_text = "an error of the emulated device's";
    return SUCCESS;
}

int cuTensorMapEncodeTiled()
{
    return NOT_FOUND;
}

int cuTensorMapEncodeIm2col()
{
    return NOT_FOUND;
}
}
