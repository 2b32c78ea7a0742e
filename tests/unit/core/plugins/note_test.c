/* tests/unit/core/plugins/note_test.c - what is a plugin's file, and what is not */
#include "core/plugins/note.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <elf.h>

#include "abi/weir.h"

#if defined(__x86_64__)
enum { MACHINE = EM_X86_64 };
#else
enum { MACHINE = EM_AARCH64 };
#endif

/* A file of headers, two segments and notes: all that is read. */
static struct {
    Elf64_Ehdr header;
    Elf64_Phdr segments[2];
    struct {
        Elf64_Nhdr sizes;
        char name[4];
        uint32_t description[3];
    } other; /* somebody else's, before ours */
    weir_note note;
} file;

static const char no_note[] = "it has no note of weir's; is WEIR_PLUGIN in one of its files?";

static int set_up(void **state)
{
    memset(&file, 0, sizeof file);
    memcpy(file.header.e_ident, ELFMAG, SELFMAG);
    file.header.e_ident[EI_CLASS] = ELFCLASS64;
    file.header.e_ident[EI_DATA] = ELFDATA2LSB;
    file.header.e_machine = MACHINE;
    file.header.e_type = ET_DYN;
    file.header.e_phoff = offsetof(__typeof__(file), segments);
    file.header.e_phentsize = sizeof file.segments[0];
    file.header.e_phnum = 2;
    file.segments[0].p_type = PT_LOAD;
    file.segments[1] = (Elf64_Phdr){.p_type = PT_NOTE,
                                    .p_offset = offsetof(__typeof__(file), other),
                                    .p_filesz = sizeof file.other + sizeof file.note,
                                    .p_align = 4};
    file.other.sizes = (Elf64_Nhdr){4, 12, 1};
    memcpy(file.other.name, "GNU", 4);
    file.note = (weir_note){5, 24, 1, "WEIR", WEIR_MAGIC, sizeof(weir_plugin), 3, 4, 5, 6, {7, 8}};
    return 0;
}

/* Of exactly that size, so that a sanitizer sees whoever reads behind it. */
static const char *find(size_t length, struct note *note)
{
    uint8_t *bytes = malloc(length ? length : 1);
    memcpy(bytes, &file, length);
    const char *why = note_find(bytes, length, note);
    free(bytes);
    return why;
}

static void is_none(const char *expected)
{
    struct note note;
    const char *why = find(sizeof file, &note);
    assert_non_null(why);
    assert_string_equal(why, expected);
}

static void is_there(void)
{
    struct note note;
    assert_null(find(sizeof file, &note));
    assert_int_equal(note.magic, WEIR_MAGIC);
    assert_int_equal(note.size, sizeof(weir_plugin));
    assert_int_equal(note.abi_major, 3);
    assert_int_equal(note.abi_minor, 4);
    assert_int_equal(note.needs_minor, 5);
    assert_int_equal(note.flags, 6);
    assert_int_equal(note.build, 8ull << 32 | 7);
}

static void a_note_is_found(void **state)
{
    is_there();
}

static void section_headers_do_not_matter(void **state)
{
    file.header.e_shoff = UINT64_MAX;
    file.header.e_shnum = UINT16_MAX;
    is_there();
}

static void any_shorter_file_is_refused(void **state)
{
    struct note note;
    for (size_t length = 0; length < sizeof file; length++)
        assert_non_null(find(length, &note));
}

static void other_objects_are_refused(void **state)
{
    file.header.e_ident[0] = '#';
    is_none("it is no ELF file");
    set_up(state);
    file.header.e_ident[EI_CLASS] = ELFCLASS32;
    is_none("it is not a 64-bit object");
    set_up(state);
    file.header.e_ident[EI_DATA] = ELFDATA2MSB;
    is_none("it is not little-endian");
    set_up(state);
    file.header.e_machine = EM_RISCV;
    is_none("it is built for another kind of processor");
    set_up(state);
    file.header.e_type = ET_REL;
    is_none("it is no shared object");
    set_up(state);
    file.header.e_phentsize = 1;
    is_none("it is no usable shared object");
}

static void notes_of_others_are_passed_by(void **state)
{
    file.segments[1].p_type = PT_LOAD;
    is_none(no_note);
    set_up(state);
    memcpy(file.note.name, "WEIT", 4);
    is_none(no_note);
    set_up(state);
    file.note.type = 2;
    is_none(no_note);
    set_up(state);
    file.note.name_size = 4;
    is_none(no_note);
}

static void damaged_notes_are_told(void **state)
{
    file.note.magic = 1;
    is_none("its note is damaged");
    set_up(state);
    file.note.description_size = 20;
    is_none("its note is damaged");
    file.note.description_size = 25; /* it would end behind its segment */
    is_none(no_note);
}

static void offsets_may_be_anything(void **state)
{
    static const uint64_t wild[] = {sizeof file, sizeof file + 1, UINT64_MAX, UINT64_MAX - 55,
                                    INT64_MAX};
    for (size_t i = 0; i < sizeof wild / sizeof *wild; i++) {
        file.header.e_phoff = wild[i];
        is_none("its file is cut short");
        set_up(state);
        file.segments[1].p_offset = wild[i];
        is_none("its file is cut short");
        set_up(state);
        file.segments[1].p_filesz = wild[i];
        is_none("its file is cut short");
        set_up(state);
        file.other.sizes.n_namesz = (uint32_t)wild[i] | 1u << 31;
        is_none(no_note);
        set_up(state);
        file.other.sizes.n_descsz = (uint32_t)wild[i] | 1u << 31;
        is_none(no_note);
        set_up(state);
    }
    file.header.e_phnum = UINT16_MAX;
    struct note note;
    assert_null(find(sizeof file, &note)); /* found before they end */
}

static void segments_aligned_to_eight_are_read(void **state)
{
    file.segments[1].p_align = 8;
    is_none(no_note); /* what is not laid out so is not ours */
    file.segments[1].p_offset = offsetof(__typeof__(file), note);
    file.segments[1].p_filesz = sizeof file.note;
    file.note.name_size = 5;
    is_none(no_note); /* the description would begin at 24 */
}

#define TEST(function) cmocka_unit_test_setup(function, set_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_note_is_found),
        TEST(section_headers_do_not_matter),
        TEST(any_shorter_file_is_refused),
        TEST(other_objects_are_refused),
        TEST(notes_of_others_are_passed_by),
        TEST(damaged_notes_are_told),
        TEST(offsets_may_be_anything),
        TEST(segments_aligned_to_eight_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
