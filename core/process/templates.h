/* core/process/templates.h - the files of core/process/templates, which the build puts into weir */
#ifndef CORE_PROCESS_TEMPLATES_H
#define CORE_PROCESS_TEMPLATES_H

struct template
{
    const char *name; /* of the file, without its .in */
    const char *text;
};

extern const struct template templates[]; /* ended by a name that is NULL */

#endif
