/* SPDX-License-Identifier: Apache-2.0 */
/* An interpreter of Python that has all but this in a shared library, as some builds of it are. */
int Py_BytesMain(int argc, char **argv);

int main(int argc, char **argv)
{
    return Py_BytesMain(argc, argv);
}
