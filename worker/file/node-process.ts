// Which process is meant by a number: Node's process ids are given again after a process has ended.

import { readFileSync } from 'node:fs';

/**
 * When the process began, in ticks since the machine did; null where the system does not tell
 * (systems other than Linux), or when there is no such process.
 */
export function startOf(pid: number): string | null {
  return statusOf(pid)?.start ?? null;
}

/** False when it has ended, or another process has its number. `start`: null when not known. */
export function isRunning(pid: number, start: string | null): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: it runs, and belongs to somebody else.
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false;
  }
  const status = statusOf(pid);
  if (status === undefined) return true;
  const hasEnded = status.state === 'Z' || status.state === 'X'; // its parent has not noticed yet
  return !hasEnded && (start === null || status.start === start);
}

// proc_pid_stat(5): the name in parentheses may hold anything; the state follows it, and as the 20th
// from there the start.
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
