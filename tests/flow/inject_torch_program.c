/* SPDX-License-Identifier: Apache-2.0 */
/* A program that is linked with PyTorch: inject_torch_program_N [die|often]. */
int PyInit_net(const char *what);

int main(int argc, char **argv)
{
    return PyInit_net(argc > 1 ? argv[1] : "");
}
