// The built files that all workers of a run need: the first that asks builds them, the others wait.
//
// Invariant: a folder that is handed out is complete. Does not know the contents; whoever starts the run removes the
// folder.

import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const LOOK_MS = 100;

/** Names the folder of builds. Set by the configuration of Playwright, or by a run of several browsers. */
export const BUILDS = 'E2E_BUILDS';

/** The folder of that build. */
export async function builtOnce(
  name: string,
  build: (folder: string) => Promise<void>,
): Promise<string> {
  const builds = process.env[BUILDS];
  if (builds === undefined) throw new Error(`${BUILDS} names no folder.`);
  const [folder, lock] = [join(builds, name), join(builds, `${name}.lock`)];
  mkdirSync(builds, { recursive: true });
  while (!existsSync(folder)) {
    if (!take(lock)) {
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
      continue;
    }
    const unfinished = `${folder}.unfinished`;
    try {
      rmSync(unfinished, { recursive: true, force: true });
      await build(unfinished);
      renameSync(unfinished, folder);
    } finally {
      rmSync(lock, { recursive: true });
    }
  }
  return folder;
}

/** Whether it is ours now. A process that was ended while it built leaves its lock to the next. */
function take(lock: string): boolean {
  const owner = join(lock, 'pid');
  try {
    mkdirSync(lock);
    writeFileSync(owner, String(process.pid));
    return true;
  } catch {
    if (existsSync(owner) && !isAlive(Number(readFileSync(owner, 'utf8')))) {
      rmSync(lock, { recursive: true, force: true });
    }
    return false;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
