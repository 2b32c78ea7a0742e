/* core/process/tree.c - what a configuration says, as a tree, with the place of everything in it */
#include "core/process/tree.h"

#include <stdarg.h>
#include <stdio.h>

#include "core/base/string.h"

enum { MISTAKE_BYTES = 384 };

void tree_append(struct tree_node *parent, struct tree_node *node)
{
    node->parent = parent;
    node->index = parent->count++;
    node->depth = parent->depth + 1;
    if (parent->last)
        parent->last->next = node;
    else
        parent->first = node;
    parent->last = node;
}

const struct tree_node *tree_child(const struct tree_node *mapping, const char *key)
{
    const struct tree_node *node = mapping->first;
    while (node && !string_equal(node->key, string_of(key)))
        node = node->next;
    return node;
}

const char *tree_show(const struct tree_node *node, char text[VALUE_TEXT_BYTES])
{
    return value_show(node->secret ? WEIR_STRING("***") : node->text, text);
}

static int write_step(const struct tree_node *node, char *step, size_t size)
{
    char key[VALUE_TEXT_BYTES];
    if (node->parent->kind == TREE_LIST)
        return snprintf(step, size, "[%u]", node->index);
    return snprintf(step, size, "%s%s", node->depth > 1 ? "." : "", value_show(node->key, key));
}

const char *tree_path(const struct tree_node *node, char path[TREE_PATH_BYTES])
{
    const struct tree_node *steps[TREE_DEPTH_MOST + 2];
    uint32_t count = 0;
    size_t length = 0;
    path[0] = 0;
    for (; node->parent && count < TREE_DEPTH_MOST + 2; node = node->parent)
        steps[count++] = node;
    while (count-- && length < TREE_PATH_BYTES)
        length += (size_t)write_step(steps[count], path + length, TREE_PATH_BYTES - length);
    return path;
}

static __attribute__((format(printf, 4, 0))) void add_mistake(struct config_errors *errors,
                                                              const struct tree_node *node,
                                                              struct config_place place,
                                                              const char *format, va_list arguments)
{
    char path[TREE_PATH_BYTES], text[MISTAKE_BYTES];
    if (errors->count >= CONFIG_ERRORS_MOST) {
        errors->count++; /* not kept: no need to find the words */
        return;
    }
    vsnprintf(text, sizeof text, format, arguments);
    tree_path(node, path);
    config_errors_add(errors, place, "%s%s%s", path, *path ? ": " : "", text);
}

void tree_mistake(struct config_errors *errors, const struct tree_node *node, const char *format,
                  ...)
{
    va_list arguments;
    va_start(arguments, format);
    add_mistake(errors, node, node->place, format, arguments);
    va_end(arguments);
}

void tree_key_mistake(struct config_errors *errors, const struct tree_node *node,
                      const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    add_mistake(errors, node, node->key_place, format, arguments);
    va_end(arguments);
}
