/* core/process/pid_file.h - the file that says which process this is, and that it is the only one
 */
#ifndef CORE_PROCESS_PID_FILE_H
#define CORE_PROCESS_PID_FILE_H

#include <stdbool.h>

/* [main] Writes the process's number there, and keeps the file locked: a second process that is to
 * write the same one fails. What a killed process left is replaced. False, and said in the log,
 * when it cannot be. */
bool pid_file_write(const char *path);
/* [main] Removes it, or empties it where the directory does not let us. */
void pid_file_remove(void);

#endif
