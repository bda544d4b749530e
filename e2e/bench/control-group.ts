// A control group of Linux for a browser: the processor time of all its processes, ended ones too, and a limit of it.
//
// Version 1 of control groups, as root: mounted under /sys/fs/cgroup, with `cpu` and `cpuacct`.

import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const PERIOD_US = 10_000;

export class ControlGroup {
  readonly #limits = create('cpu');
  readonly #usage = create('cpuacct');

  /** Adds processes; those that they start are members from the beginning. */
  add(pids: readonly number[]): void {
    for (const directory of [this.#limits, this.#usage]) {
      for (const pid of pids) writeFileSync(join(directory, 'cgroup.procs'), String(pid));
    }
  }

  /** How much of one processor all members have together; 1 is one. */
  limit(cores: number): void {
    writeFileSync(join(this.#limits, 'cpu.cfs_period_us'), String(PERIOD_US));
    writeFileSync(join(this.#limits, 'cpu.cfs_quota_us'), String(PERIOD_US * cores));
  }

  /** Processor time that was used so far. */
  get usedMs(): number {
    return Number(readFileSync(join(this.#usage, 'cpuacct.usage'), 'utf8')) / 1e6;
  }

  /** All members must have ended. */
  remove(): void {
    for (const directory of [this.#limits, this.#usage]) rmdirSync(directory);
  }
}

function create(controller: string): string {
  const directory = `/sys/fs/cgroup/${controller}/ctx-storage-bench-${process.pid}`;
  try {
    mkdirSync(directory);
  } catch (cause) {
    throw new Error(
      `${directory}: cannot be made; the processor time needs control groups of version 1, as root.`,
      { cause },
    );
  }
  return directory;
}
