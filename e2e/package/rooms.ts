// The rooms of the repository: each is a workspace of npm, which others import by its name, through the doors that its
// manifest exports.
//
// Invariant: a module of the product reaches another room only by name, except inside of the core, whose order
// e2e/suite/layers.ts checks. Resolves names below a given root, because a copy of the repository has rooms of its own.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import type { Plugin } from 'esbuild';

export const ROOM_NAMES = /^@ctx-storage\//;

/** A manifest is data: a module may read the name of a published package from it. */
export const MANIFEST = /\/package\.json$/;

/** The folders of the core. They import each other by path. */
const CORE = ['src', 'worker'];

interface Room {
  /** From the root. */
  readonly folder: string;
  /** From the name after the room's own, as `./contract`, to the file in the folder. */
  readonly doors: Readonly<Record<string, string>>;
}

/** The folder of the room that the file is in; undefined for a file of no room. Paths are from the root. */
export function roomFolderOf(file: string): string | undefined {
  const [first, second] = file.split(sep);
  if (CORE.includes(first!)) return 'core';
  return first === 'packages' && second !== undefined ? join(first, second) : undefined;
}

/** The rooms by name. `packages/management` has no such name: it is a published package, which no other room imports. */
export function roomsBelow(root: string): ReadonlyMap<string, Room> {
  const folder = join(root, 'packages');
  const names = existsSync(folder) ? readdirSync(folder) : [];
  const packages = names.map((name) => join('packages', name));
  const rooms = [...CORE, ...packages]
    .filter((folder) => existsSync(join(root, folder, 'package.json')))
    .map((folder) => {
      const text = readFileSync(join(root, folder, 'package.json'), 'utf8');
      const { name, exports } = JSON.parse(text) as { name: string; exports: Room['doors'] };
      return [name, { folder, doors: exports }] as const;
    });
  return new Map(rooms.filter(([name]) => ROOM_NAMES.test(name)));
}

/**
 * The file behind a name like `@ctx-storage/core/contract`, from the root.
 *
 * @throws Error if there is no such room, or its manifest exports no such door
 */
export function doorBehind(rooms: ReadonlyMap<string, Room>, specifier: string): string {
  const [scope, own, ...rest] = specifier.split('/');
  const name = `${scope}/${own}`;
  const room = rooms.get(name);
  if (room === undefined) throw new Error(`${name} is not a room: ${[...rooms.keys()].join(', ')}`);
  const file = room.doors[['.', ...rest].join('/')];
  if (file === undefined) {
    throw new Error(`${specifier} is not a door of ${name}: ${Object.keys(room.doors).join(', ')}`);
  }
  return join(room.folder, file);
}

/** For esbuild: finds the doors of the rooms below this root. */
export function roomDoors(root: string): Plugin {
  return {
    name: 'room-doors',
    setup({ onResolve }) {
      const rooms = roomsBelow(root);
      onResolve({ filter: ROOM_NAMES }, ({ path }) => {
        try {
          return { path: join(root, doorBehind(rooms, path)) };
        } catch (error) {
          return { errors: [{ text: (error as Error).message }] };
        }
      });
    },
  };
}

/** For esbuild: no module of a room reaches another room by its path. Tests and their tools may, so this is for the product. */
export function closedRooms(root: string): Plugin {
  return {
    name: 'closed-rooms',
    setup({ onResolve }) {
      onResolve({ filter: /^\.\.\// }, ({ path, importer }) => {
        const from = roomFolderOf(relative(root, importer));
        const to = roomFolderOf(relative(root, resolve(dirname(importer), path)));
        if (from === undefined || to === undefined || from === to) return undefined;
        if (MANIFEST.test(path)) return undefined;
        const text = `${path} reaches into ${to}: import it by its name, through one of its doors`;
        return { errors: [{ text }] };
      });
    },
  };
}
