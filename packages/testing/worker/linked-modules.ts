// The installed packages for a copy of the repository, whose rooms are the copy's own.
//
// A link to the whole of `node_modules` would lead the names of rooms back to the original's modules.

import { mkdirSync, readdirSync, readlinkSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';

/** The scope of the rooms: links to folders of the repository, which are relative. */
const ROOMS = '@ctx-storage';

/** Links each package that is installed in `root` into `copy`, and each name of a room to the copy's room. */
export function linkModules(root: string, copy: string): void {
  const [from, to] = [join(root, 'node_modules'), join(copy, 'node_modules')];
  mkdirSync(join(to, ROOMS), { recursive: true });
  for (const name of readdirSync(from)) {
    if (name !== ROOMS) symlinkSync(join(from, name), join(to, name));
  }
  for (const name of readdirSync(join(from, ROOMS))) {
    symlinkSync(readlinkSync(join(from, ROOMS, name)), join(to, ROOMS, name));
  }
}
