// Opens files while the collector runs, and posts the names of files that are not open after a while.

import { HandleCloser, OpfsDirectory } from '../../../worker/engine/file/opfs-file.ts';

const FILES = 3000;
const AT_ONCE = 16;
/** Longer than all openings take together, on a busy machine as well. */
const WAIT_MS = 30_000;

const environment = { now: () => 0, sleep: async () => {} };

async function openAll(): Promise<string[]> {
  const root = await navigator.storage.getDirectory();
  const folder = await root.getDirectoryHandle('collected', { create: true });
  const directory = new OpfsDirectory(folder, environment, new HandleCloser(async () => {}));
  const names = Array.from({ length: FILES }, (_, i) => `file ${i}`);
  const missing = new Set(names);
  const openSome = async () => {
    for (let name = names.pop(); name !== undefined; name = names.pop()) {
      if (names.length % 4 === 0) setTimeout(() => globalThis.gc!());
      (await directory.open(name)).close();
      missing.delete(name);
    }
  };
  const late = new Promise((resolve) => setTimeout(resolve, WAIT_MS));
  await Promise.race([Promise.all(Array.from({ length: AT_ONCE }, openSome)), late]);
  return [...missing];
}

postMessage(await openAll());
