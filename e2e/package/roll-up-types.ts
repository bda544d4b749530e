// One declaration file per entry, from the files that the compiler writes for each source file.
//
// Invariant: types that several entries share are declared in one file, so that a class with private fields is
// one type whichever entry it is taken from; and every comment stays where editors look for it. Knows nothing of
// which entries the package has.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { rolldown } from 'rolldown';
import { dts } from 'rolldown-plugin-dts';
import { doorBehind, ROOM_NAMES, roomsBelow } from './rooms.ts';

/**
 * Writes the declarations of these entries, files by name, and their shared types into a folder.
 *
 * `declarations`: the folder where the compiler wrote those of all modules, as the modules lie in the repository.
 */
export async function rollUpTypes(
  entries: Readonly<Record<string, string>>,
  folder: string,
  declarations: string,
): Promise<void> {
  const rooms = roomsBelow(join(import.meta.dirname, '../..'));
  const input = Object.entries(entries).map(([name, file]) => [name, resolve(file)]);
  const bundle = await rolldown({
    input: Object.fromEntries(input),
    external: (name) => /^[^./]/.test(name) && !ROOM_NAMES.test(name),
    plugins: [
      {
        name: 'room-doors',
        resolveId: {
          order: 'pre',
          handler: (name) =>
            ROOM_NAMES.test(name)
              ? join(declarations, doorBehind(rooms, name).replace(/\.tsx?$/, '.d.ts'))
              : null,
        },
      },
      // Declarations are read as they are: no compiler runs.
      dts({ dtsInput: true, tsconfig: false }),
    ],
  });
  await bundle.write({
    dir: folder,
    chunkFileNames: 'shared/[name].ts',
    // A message of the compiler may name an export of a shared file: it has its own name.
    minifyInternalExports: false,
  });
  await bundle.close();
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.d.ts')) continue;
    const file = join(folder, name);
    writeFileSync(file, readable(readFileSync(file, 'utf8')));
  }
}

/**
 * Without the paths that the printer names, which are those of the machine that built it.
 *
 * The printer sets some comments behind the member before, `a: string; /** … *\/`, where TypeScript does not read
 * them, and some members behind their comment.
 */
function readable(text: string): string {
  return text
    .replaceAll(/^\/\/ .*\.d\.ts\n/gm, '')
    .replaceAll(/^( *)(?! |\*|\/\*)(.*[;{,]) (?=\/\*\*)/gm, '$1$2\n$1')
    .replaceAll(/^( *)(\/\*\*(?:(?!\*\/).)*\*\/) ?(?=\S)/gm, '$1$2\n$1')
    .replaceAll(/^( *)( \*\/)(?=\S)/gm, '$1$2\n$1');
}
