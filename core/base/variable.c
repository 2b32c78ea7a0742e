/* core/base/variable.c - names and values that filters give one exchange */
#include "core/base/variable.h"

#include <string.h>

#include "core/base/string.h"

static struct variable *find(const struct variables *variables, weir_string name)
{
    struct variable *variable = variables->first;
    while (variable && !string_equal(variable->name, name))
        variable = variable->next;
    return variable;
}

const struct variable *variable_find(const struct variables *variables, weir_string name)
{
    return find(variables, name);
}

static bool reserve(struct variables *variables, size_t bytes)
{
    if (bytes > VARIABLES_BYTES - variables->bytes)
        return false;
    variables->bytes += (uint32_t)bytes;
    return true;
}

static weir_result overwrite(struct variables *variables, struct arena *arena,
                             struct variable *variable, weir_string value)
{
    if (value.length > variable->room) {
        if (!reserve(variables, value.length))
            return WEIR_TOO_MUCH;
        variable->value = arena_copy(arena, value);
        variable->room = value.length;
    } else if (value.length) {
        memmove((char *)variable->value.bytes, value.bytes, value.length);
    }
    variable->value.length = value.length;
    return WEIR_OK;
}

weir_result variable_set(struct variables *variables, struct arena *arena, weir_string name,
                         weir_string value)
{
    struct variable *variable = find(variables, name);
    if (variable)
        return overwrite(variables, arena, variable, value);
    if (!string_is_token(name) || name.length > VARIABLE_NAME_BYTES)
        return WEIR_INVALID;
    if (variables->count == VARIABLES_MOST || value.length > VARIABLES_BYTES ||
        !reserve(variables, name.length + value.length))
        return WEIR_TOO_MUCH;
    variable = arena_allocate(arena, sizeof *variable);
    *variable = (struct variable){arena_copy(arena, name), arena_copy(arena, value), value.length,
                                  variables->first};
    variables->first = variable;
    variables->count++;
    return WEIR_OK;
}
