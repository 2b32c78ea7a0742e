/* core/plugins/note.h - what a plugin's file says of itself, read before any of it runs
 *
 * Pure functions of the file's bytes, which may be anything. [any] */
#ifndef CORE_PLUGINS_NOTE_H
#define CORE_PLUGINS_NOTE_H

#include <stddef.h>
#include <stdint.h>

/* The first bytes of weir_plugin, which are the same in every major. */
struct note {
    uint32_t magic, size;
    uint16_t abi_major, abi_minor, needs_minor, flags;
    uint64_t build;
};

/* Finds the note of weir_note's layout in a shared object for this machine. NULL: there it is. Else
 * why the file is no plugin, to follow "not a weir plugin: ". */
const char *note_find(const uint8_t *bytes, size_t length, struct note *note);

#endif
