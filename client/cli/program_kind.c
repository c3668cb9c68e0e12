/* SPDX-License-Identifier: Apache-2.0 */
/* The head of an ELF file, and the rights of its file. */
#include "client/cli/program_kind.h"

#include <linux/elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { HEAD_BYTES = 4096, SCRIPTS_MAX = 4 };

static bool has_interpreter(const unsigned char *head, size_t bytes)
{
    Elf64_Ehdr elf;
    Elf64_Phdr part;

    memcpy(&elf, head, sizeof(elf));
    for (uint64_t i = 0; i < elf.e_phnum; i++) {
        const uint64_t place = elf.e_phoff + i * elf.e_phentsize;

        if (elf.e_phoff > bytes || place + sizeof(part) > bytes)
            return true; /* not within what was read: not known */
        memcpy(&part, head + place, sizeof(part));
        if (part.p_type == PT_INTERP)
            return true;
    }
    return false;
}

/* The path behind "#!", or NULL. */
static const char *interpreter_of(char *head, size_t bytes)
{
    char *path = head + 2;

    if (bytes < 3 || memcmp(head, "#!", 2) != 0)
        return NULL;
    head[bytes - 1] = '\0';
    path += strspn(path, " \t");
    path[strcspn(path, " \t\n")] = '\0';
    return path;
}

static ssize_t read_head(const char *path, char head[HEAD_BYTES], struct stat *out_info)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    ssize_t bytes = -1;

    if (fd < 0)
        return -1;
    if (fstat(fd, out_info) == 0 && S_ISREG(out_info->st_mode))
        bytes = read(fd, head, HEAD_BYTES);
    close(fd);
    return bytes;
}

/* The loader takes nothing from whoever starts such a program. */
static bool has_other_rights(const char *path, const struct stat *info)
{
    return ((info->st_mode & S_ISUID) && info->st_uid != getuid()) ||
           ((info->st_mode & S_ISGID) && info->st_gid != getgid()) ||
           (getuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0);
}

const char *program_kind_closed(const char *path)
{
    char heads[2][HEAD_BYTES];
    struct stat info;

    for (int i = 0; i < SCRIPTS_MAX && path; i++) {
        char *head = heads[i % 2];
        const ssize_t bytes = read_head(path, head, &info);

        if (bytes < (ssize_t)sizeof(Elf64_Ehdr) && (bytes < 3 || head[0] != '#'))
            return NULL;
        if (memcmp(head, ELFMAG, SELFMAG) == 0) {
            if (head[EI_CLASS] != ELFCLASS64)
                return "is a 32-bit program";
            if (has_other_rights(path, &info))
                return "runs with rights that its caller has not";
            return has_interpreter((const unsigned char *)head, (size_t)bytes)
                       ? NULL
                       : "is a static program";
        }
        path = interpreter_of(head, (size_t)bytes);
    }
    return NULL;
}

/* Texts that are in such a library's own code, and in no program that only calls it. */
static const struct {
    const char *source, *text;
} marks[] = {
    {"ggml", "ggml_backend_sched_alloc_splits"},
    {"ggml", "GGML_ASSERT("},
    {"onednn", "ONEDNN_VERBOSE"},
    {"blas", "OPENBLAS_NUM_THREADS"},
    {"blas", "BLIS_NUM_THREADS"},
    {"ort", "onnxruntime::InferenceSession"},
    {"ort", "[ONNXRuntimeError]"},
};

bool program_kind_holds(const char *path, const char *source)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    bool is_there = false;
    struct stat info;
    void *bytes;

    if (fd < 0)
        return false;
    bytes = fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0
                ? mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0)
                : MAP_FAILED;
    close(fd);
    if (bytes == MAP_FAILED)
        return false;
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]) && !is_there; i++)
        is_there = strcmp(marks[i].source, source) == 0 &&
                   memmem(bytes, (size_t)info.st_size, marks[i].text, strlen(marks[i].text));
    munmap(bytes, (size_t)info.st_size);
    return is_there;
}
