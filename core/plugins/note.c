/* core/plugins/note.c - what a plugin's file says of itself, read before any of it runs
 *
 * Program headers lead there, so that a file without section headers is understood too. */
#include "core/plugins/note.h"

#include <elf.h>
#include <stdbool.h>
#include <string.h>

#include "abi/weir.h"

#if defined(__x86_64__)
enum { MACHINE = EM_X86_64 };
#elif defined(__aarch64__)
enum { MACHINE = EM_AARCH64 };
#else
#error "weir does not know this machine"
#endif

enum { NAME_BYTES = sizeof "WEIR", NAME_ROOM = 8, TYPE = 1, DAMAGED = -1, NONE, FOUND };

_Static_assert(sizeof(struct note) == 24 && offsetof(weir_plugin, name) == sizeof(struct note) &&
                   offsetof(weir_plugin, build) == offsetof(struct note, build),
               "a note is the beginning of weir_plugin");
_Static_assert(sizeof(weir_note) == sizeof(Elf64_Nhdr) + NAME_ROOM + sizeof(struct note),
               "abi/weir.h lays it out so");

struct bytes {
    const uint8_t *at;
    size_t length;
};

/* That part of them; false: they end before it does. */
static bool cut(struct bytes whole, uint64_t offset, uint64_t length, struct bytes *part)
{
    if (offset > whole.length || length > whole.length - offset)
        return false;
    *part = (struct bytes){whole.at + offset, (size_t)length};
    return true;
}

static const char *check_header(struct bytes file, Elf64_Ehdr *header)
{
    struct bytes part;
    if (file.length < EI_NIDENT || memcmp(file.at, ELFMAG, SELFMAG) != 0)
        return "it is no ELF file";
    if (file.at[EI_CLASS] != ELFCLASS64)
        return "it is not a 64-bit object";
    if (file.at[EI_DATA] != ELFDATA2LSB)
        return "it is not little-endian";
    if (!cut(file, 0, sizeof *header, &part))
        return "its file is cut short";
    memcpy(header, part.at, sizeof *header);
    if (header->e_machine != MACHINE)
        return "it is built for another kind of processor";
    if (header->e_type != ET_DYN)
        return "it is no shared object";
    return header->e_phentsize == sizeof(Elf64_Phdr) ? NULL : "it is no usable shared object";
}

/* Ours has a name of its own, so any other's note is passed by. */
static int read_note(struct bytes name, struct bytes description, uint32_t type, struct note *note)
{
    if (type != TYPE || name.length != NAME_BYTES || memcmp(name.at, "WEIR", NAME_BYTES) != 0)
        return NONE;
    if (description.length != sizeof *note)
        return DAMAGED;
    memcpy(note, description.at, sizeof *note);
    return note->magic == WEIR_MAGIC ? FOUND : DAMAGED;
}

static uint64_t round_up(uint64_t size, uint64_t alignment)
{
    return (size + alignment - 1) / alignment * alignment;
}

static int search_segment(struct bytes segment, uint64_t alignment, struct note *note)
{
    struct bytes head, name, description;
    uint64_t at = 0;
    int found = NONE;
    while (found == NONE && cut(segment, at, sizeof(Elf64_Nhdr), &head)) {
        Elf64_Nhdr sizes;
        memcpy(&sizes, head.at, sizeof sizes);
        uint64_t described = round_up(at + sizeof sizes + sizes.n_namesz, alignment);
        if (!cut(segment, at + sizeof sizes, sizes.n_namesz, &name) ||
            !cut(segment, described, sizes.n_descsz, &description))
            return NONE; /* not notes after all, or somebody's broken ones */
        found = read_note(name, description, sizes.n_type, note);
        at = round_up(described + sizes.n_descsz, alignment);
    }
    return found;
}

const char *note_find(const uint8_t *bytes, size_t length, struct note *note)
{
    struct bytes file = {bytes, length}, part;
    Elf64_Ehdr header;
    const char *why = check_header(file, &header);
    int found = NONE;
    for (uint32_t i = 0; !why && found == NONE && i < header.e_phnum; i++) {
        Elf64_Phdr segment;
        if (!cut(file, header.e_phoff, (uint64_t)(i + 1) * sizeof segment, &part))
            return "its file is cut short";
        memcpy(&segment, part.at + i * sizeof segment, sizeof segment);
        if (segment.p_type != PT_NOTE)
            continue;
        if (!cut(file, segment.p_offset, segment.p_filesz, &part))
            return "its file is cut short";
        found = search_segment(part, segment.p_align == 8 ? 8 : 4, note);
    }
    if (why || found == FOUND)
        return why;
    return found == DAMAGED ? "its note is damaged"
                            : "it has no note of weir's; is WEIR_PLUGIN in one of its files?";
}
