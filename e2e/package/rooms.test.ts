import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { describe, expect, test } from 'vitest';
import { closedRooms, doorBehind, roomDoors, roomFolderOf, roomsBelow } from './rooms.ts';

const ROOT = join(import.meta.dirname, '../..');
const ROOMS = roomsBelow(ROOT);

/** The messages of a build of one module of the room `packages/follow`. */
async function faults(contents: string): Promise<readonly string[]> {
  const built = build({
    stdin: {
      contents,
      resolveDir: join(ROOT, 'packages/follow/app'),
      sourcefile: join(ROOT, 'packages/follow/app/made.ts'),
      loader: 'ts',
    },
    plugins: [closedRooms(ROOT), roomDoors(ROOT)],
    bundle: true,
    format: 'esm',
    logLevel: 'silent',
    write: false,
  });
  return built.then(
    () => [],
    ({ errors }: { errors: { text: string }[] }) => errors.map(({ text }) => text),
  );
}

test('every room of the repository has doors, and each is a file of the room', () => {
  const folders = [...ROOMS.values()].map(({ folder }) => folder);
  expect(folders).toEqual(expect.arrayContaining(['src', 'worker', 'packages/follow']));
  for (const [name, { folder, doors }] of ROOMS) {
    expect(Object.keys(doors), name).not.toEqual([]);
    for (const door of Object.values(doors))
      expect(existsSync(join(ROOT, folder, door))).toBe(true);
  }
});

describe('a build fails', () => {
  test('when a package imports a module of the core that is no door', async () => {
    expect(await faults(`import '@ctx-storage/core/shared/wire/control';`)).toEqual([
      expect.stringMatching(/^@ctx-storage\/core\/shared\/wire\/control is not a door .*\.\/wire/),
    ]);
    expect(await faults(`import '@ctx-storage/engine';`)).toEqual([
      expect.stringMatching(/^@ctx-storage\/engine is not a room: /),
    ]);
  });

  test('when a package imports a module of another room by its path', async () => {
    expect(await faults(`import '../../../src/shared/wire/control.ts';`)).toEqual([
      expect.stringMatching(/^\.\.\/\.\.\/\.\.\/src\/shared\/wire\/control\.ts reaches into core/),
    ]);
    expect(await faults(`import '../../vite/plugin.ts';`)).toEqual([
      expect.stringMatching(/reaches into packages\/vite/),
    ]);
  });

  test('and not for doors, nor for paths in the room', async () => {
    expect(
      await faults(`import '@ctx-storage/core/errors'; import '../changes/changes.ts';`),
    ).toEqual([]);
  });
});

test('Node and the builds find a door of the manifest, and refuse what it does not export', () => {
  const door = '@ctx-storage/core/errors';
  expect(import.meta.resolve(door)).toBe(pathToFileURL(join(ROOT, 'src/doors/errors.ts')).href);
  expect(doorBehind(ROOMS, door)).toBe(join('src', 'doors', 'errors.ts'));
  const deep = '@ctx-storage/worker/engine/log/segment.ts';
  expect(() => import.meta.resolve(deep)).toThrow(
    expect.objectContaining({ code: 'ERR_PACKAGE_PATH_NOT_EXPORTED' }),
  );
  expect(() => doorBehind(ROOMS, deep)).toThrow(`${deep} is not a door of @ctx-storage/worker`);
});

test.each([
  ['src/page/a.ts', 'core'],
  ['worker/engine/a.ts', 'core'],
  ['packages/vite/a.ts', 'packages/vite'],
  ['e2e/specs/a.ts', undefined],
  ['../elsewhere/a.ts', undefined],
])('the room of %s is %s', (file, folder) => {
  expect(roomFolderOf(file)).toBe(folder);
});
