// Builds the npm package and packs it into a file, as `npm pack` does.
//
//   npx tsx e2e/package/pack.ts <file>

import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const REPOSITORY = join(import.meta.dirname, '../..');

/** Writes the packed package to a file. Its build replaces `dist/`, so two must not run at once. */
export function packTo(file: string): void {
  const run = (...parameters: string[]) =>
    execFileSync('npm', parameters, { cwd: REPOSITORY, encoding: 'utf8' });
  const directory = mkdtempSync(join(tmpdir(), 'ctx-storage-pack-'));
  try {
    run('run', 'build');
    const json = run('pack', '--json', '--ignore-scripts', '--pack-destination', directory);
    // npm 12 prints an object by name, earlier versions an array.
    const packed = JSON.parse(json) as Record<string, { filename: string }>;
    copyFileSync(join(directory, Object.values(packed)[0]!.filename), file);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const file = process.argv[2];
  if (file === undefined) throw new Error('Name the file to write: tsx e2e/package/pack.ts <file>');
  packTo(file);
}
