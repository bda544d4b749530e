// Bundles a program, such as the simulator with the engine, with a defect put back into their sources.
//
// Invariant: the files of the repository are only read, so no edit can be left in them. An edit whose text does not occur
// exactly once in its file, or whose file is not in the bundle, is an error: the edits must follow the code.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build, type Plugin } from 'esbuild';
import type { Edit } from './defect.ts';

export const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));

/** Bundled packages are CommonJS in part, which asks for the modules of Node by `require`. */
const REQUIRE =
  "import { createRequire as requireOf$ } from 'node:module'; const require = requireOf$(import.meta.url);";

/** Writes the program of the module `entry`, with the edits of its sources, to the path `target`. */
export async function writeDefective(
  entry: string,
  edits: readonly Edit[],
  target: string,
): Promise<void> {
  const unused = new Set(edits);
  await build({
    entryPoints: [entry],
    outfile: target,
    bundle: true,
    // Messages of failures name classes.
    keepNames: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    banner: { js: REQUIRE },
    logLevel: 'silent', // the error that `build` throws has the messages
    plugins: [editSources(edits, unused)],
  });
  const [first] = unused;
  if (first !== undefined) throw new Error(`The program does not import ${first.file}.`);
}

/** Loads the sources with their edits; each source still knows its own address. */
function editSources(edits: readonly Edit[], unused: Set<Edit>): Plugin {
  return {
    name: 'edited',
    setup({ onLoad }) {
      onLoad({ filter: /\.ts$/ }, async ({ path }) => {
        const source = await readFile(path, 'utf8');
        const own = edits.filter(({ file }) => join(ROOT, file) === path);
        const text = own.reduce(withEdit, source);
        for (const edit of own) unused.delete(edit);
        const url = JSON.stringify(pathToFileURL(path).href);
        return {
          loader: 'ts',
          contents: text.includes('import.meta.url')
            ? `const ownUrl$ = ${url}; ${text.replaceAll('import.meta.url', 'ownUrl$')}`
            : text,
        };
      });
    },
  };
}

/**
 * The text of the file after the edit.
 *
 * @throws Error unless the text to edit occurs exactly once
 */
export function withEdit(text: string, { file, from, to }: Edit): string {
  const count = text.split(from).length - 1;
  if (count !== 1) throw new Error(`${file} contains the text to edit ${count} times:\n${from}`);
  return text.replace(from, () => to);
}
