// Identifies processes by id and start time, because the system reuses process ids.

import { readFileSync } from 'node:fs';

/**
 * When the process started, in clock ticks since boot; null if there is no such process, or the
 * system does not tell (anything but Linux).
 */
export function startOf(pid: number): string | null {
  return statusOf(pid)?.start ?? null;
}

/** False if the process has ended, or another one has its id. `start`: null if unknown. */
export function isRunning(pid: number, start: string | null): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: it runs, and belongs to another user.
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false;
  }
  const status = statusOf(pid);
  if (status === undefined) return true;
  const hasEnded = status.state === 'Z' || status.state === 'X'; // not yet reaped by its parent
  return !hasEnded && (start === null || status.start === start);
}

// proc_pid_stat(5): the name in parentheses may contain anything. The state is the first field after
// it, the start time the 20th.
function statusOf(pid: number): { readonly state: string; readonly start: string } | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const [state, start] = [fields[0], fields[19]];
    return state === undefined || start === undefined ? undefined : { state, start };
  } catch {
    return undefined; // no such file system, or no such process
  }
}
