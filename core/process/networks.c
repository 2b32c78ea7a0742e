/* core/process/networks.c - lists of networks that plugins read from their sections and keep */
#include "core/process/networks.h"

#include "core/base/memory.h"
#include "core/io/network.h"

struct weir_networks {
    struct network_list list;
    uint32_t room;
};

static void add(weir_networks *networks, struct network network)
{
    struct network_list *list = &networks->list;
    if (list->count == networks->room) {
        networks->room = networks->room ? networks->room * 2 : 8;
        list->networks = memory_resize(list->networks, networks->room * sizeof network);
    }
    list->networks[list->count++] = network;
}

static bool read_text(weir_networks *networks, const struct tree_node *node,
                      struct config_errors *errors)
{
    struct network found[NETWORKS_OF_TEXT_MOST];
    char shown[VALUE_TEXT_BYTES];
    uint32_t count = 0;
    const char *mistake = node->kind == TREE_TEXT ? network_parse(node->text, found, &count)
                                                  : "is not a network";
    if (mistake)
        tree_mistake(errors, node, "\"%s\" %s", tree_show(node, shown), mistake);
    for (uint32_t i = 0; !mistake && i < count; i++)
        add(networks, found[i]);
    return !mistake;
}

weir_networks *networks_read(const struct tree_node *node, bool forbids,
                             struct config_errors *errors)
{
    weir_networks *networks = memory_zeroed(sizeof *networks);
    networks->list.embedded = forbids;
    bool fine = true;
    if (node && node->kind == TREE_TEXT)
        fine = read_text(networks, node, errors);
    else
        for (const struct tree_node *child = node ? node->first : NULL; child; child = child->next)
            fine &= read_text(networks, child, errors);
    if (fine)
        return networks;
    networks_free(networks);
    return NULL;
}

void networks_free(weir_networks *networks)
{
    if (networks)
        memory_free(networks->list.networks);
    memory_free(networks);
}

uint32_t networks_contain(const weir_networks *networks, weir_string address)
{
    struct address parsed;
    return networks && address_from_literal(address, 0, &parsed) &&
           network_list_contains(&networks->list, &parsed);
}
