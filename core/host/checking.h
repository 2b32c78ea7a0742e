/* core/host/checking.h - weir --check-plugins: what authors of plugins get wrong shows at once
 *
 * The hooks of filters get copies of what they are shown, which end when the hook returns or, of a
 * head, when it is changed; calls on an exchange whose hook does not run, in a wrong phase, or with
 * buffers that the plugin does not hold are told of and do nothing. All of it is in tables that
 * take the place of others before a plugin is loaded: without it nothing is asked. */
#ifndef CORE_HOST_CHECKING_H
#define CORE_HOST_CHECKING_H

/* [main] Once, before host_table() and the first plugin. */
void checking_start(void);

#endif
