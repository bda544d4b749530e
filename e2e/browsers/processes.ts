// Kills browser processes as an operating system would, to see which data survives; and measures the memory
// they use.
//
// It touches only processes that this process started: they are found as its descendants that carry the
// profile's directory on their command line, never by name. Linux only, by /proc.

import { readdirSync, readFileSync } from 'node:fs';

interface Process {
  readonly pid: number;
  readonly commandLine: string;
}

/** Kills every renderer of the browser on this profile; its pages crash. */
export function killRenderers(profileDirectory: string): void {
  kill(
    browserProcesses(profileDirectory).filter(({ commandLine }) =>
      commandLine.includes('--type=renderer'),
    ),
  );
}

/** Kills the browser on this profile with all its processes, the first one first. */
export function killBrowser(profileDirectory: string): void {
  kill(browserProcesses(profileDirectory));
}

/** Memory of the renderers of the browser on this profile, including memory shared with other processes. */
export function rendererBytes(profileDirectory: string): number {
  let bytes = 0;
  for (const pid of rendererIds(profileDirectory)) {
    const [, residentPages] = readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ');
    bytes += Number(residentPages) * 4096;
  }
  return bytes;
}

/** The processes that render pages of the browser on this profile. */
export function rendererIds(profileDirectory: string): number[] {
  return browserProcesses(profileDirectory)
    .filter(({ commandLine }) => commandLine.includes('--type=renderer'))
    .map(({ pid }) => pid);
}

/** All processes of the browser on this profile, the first one first. */
export function browserIds(profileDirectory: string): number[] {
  return browserProcesses(profileDirectory).map(({ pid }) => pid);
}

// The browser's first process names the profile; its children need not.
function browserProcesses(profileDirectory: string): Process[] {
  const children = childrenByParent();
  const below = (pid: number): Process[] =>
    (children.get(pid) ?? []).flatMap((child) => [child, ...below(child.pid)]);
  const browser = below(process.pid).find(({ commandLine }) =>
    commandLine.includes(profileDirectory),
  );
  return browser ? [browser, ...below(browser.pid)] : [];
}

function childrenByParent(): Map<number, Process[]> {
  const children = new Map<number, Process[]>();
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    const pid = Number(entry);
    try {
      const status = readFileSync(`/proc/${pid}/stat`, 'utf8');
      // After the command in parentheses come the state and the parent.
      const parent = Number(status.slice(status.lastIndexOf(')') + 2).split(' ')[1]);
      const commandLine = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
      children.set(parent, [...(children.get(parent) ?? []), { pid, commandLine }]);
    } catch {
      // The process ended while it was being read.
    }
  }
  return children;
}

function kill(processes: readonly Process[]): void {
  if (processes.length === 0) throw new Error('No process of this browser was found to kill.');
  for (const { pid } of processes) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // The process ended together with one killed before it.
    }
  }
}
