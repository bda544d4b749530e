// Builds the npm package and packs it into a file, as `npm pack` does.
//
//   npx tsx e2e/package/pack.ts <file>

import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { missingAddresses } from './addresses.ts';
import { registryReadme } from './registry-readme.ts';

const REPOSITORY = join(import.meta.dirname, '../..');

/** Other builds in `dist`: the playground and the guide. */
const OTHER_BUILDS = ['dist/demo', 'dist/site'];

const OF_THE_REPOSITORY = ['scripts', 'devDependencies', 'overrides'] as const;

/**
 * Writes the packed package to a file. Its manifest has neither scripts, which installers warn about, nor
 * tools. The build replaces `dist/`, so two must not run at once.
 */
export function packTo(file: string): void {
  const run = (cwd: string, ...parameters: string[]) =>
    execFileSync('npm', parameters, { cwd, encoding: 'utf8' });
  const directory = mkdtempSync(join(tmpdir(), 'ctx-storage-pack-'));
  try {
    run(REPOSITORY, 'run', 'build');
    const manifest = JSON.parse(readFileSync(join(REPOSITORY, 'package.json'), 'utf8'));
    for (const part of OF_THE_REPOSITORY) delete manifest[part];
    manifest.exports = withOlderTypes(manifest.exports);
    // `npm pack` chooses among these by the same patterns.
    const names = new Set((manifest.files as string[]).map((pattern) => pattern.split('/')[0]!));
    for (const name of names) {
      cpSync(join(REPOSITORY, name), join(directory, name), {
        recursive: true,
        filter: (path) => !OTHER_BUILDS.some((build) => path.startsWith(join(REPOSITORY, build))),
      });
    }
    // npm leaves out files of this name, and obeys them: no modules that an example has installed are packed.
    for (const example of readdirSync(join(directory, 'docs/examples'))) {
      const ignored = join(directory, 'docs/examples', example, '.gitignore');
      if (existsSync(ignored)) copyFileSync(ignored, join(dirname(ignored), 'gitignore'));
    }
    const readme = readFileSync(join(REPOSITORY, 'README.md'), 'utf8');
    const isPacked = (file: string) =>
      /^docs\/(?:(?:internals|examples)\/[^/]+\.md|images\/[^/]+\.png|[^/]+\.md)$|^(?:[A-Z]+\.md|LICENSE)$/.test(
        file,
      ) && existsSync(join(directory, file));
    writeFileSync(join(directory, 'README.md'), registryReadme(readme, manifest, isPacked));
    writeFileSync(join(directory, 'package.json'), JSON.stringify(manifest, null, 2));
    const json = run(directory, 'pack', '--json', '--ignore-scripts');
    // npm 12 prints an object by name, earlier versions an array.
    const packed = JSON.parse(json) as Record<string, { filename: string }>;
    copyFileSync(join(directory, Object.values(packed)[0]!.filename), file);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

type Conditions = Readonly<Record<string, string>>;

/** TypeScript before 5.7 knows no typed arrays of a kind of buffer: it is given declarations without. */
function withOlderTypes(exports: Readonly<Record<string, string | Conditions>>) {
  const of = (entry: string | Conditions) => {
    if (typeof entry === 'string' || !entry.types?.startsWith('./dist/types/')) return entry;
    return { 'types@<5.7': entry.types.replace('/types/', '/types-5.4/'), ...entry };
  };
  return Object.fromEntries(Object.entries(exports).map(([path, entry]) => [path, of(entry)]));
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const file = process.argv[2];
  if (file === undefined) throw new Error('Name the file to write: tsx e2e/package/pack.ts <file>');
  packTo(file);
  const missing = missingAddresses(
    JSON.parse(readFileSync(join(REPOSITORY, 'package.json'), 'utf8')),
  );
  if (missing.length > 0) {
    console.log(`Missing in package.json: ${missing.join(', ')} (docs/internals/releasing.md).`);
  }
}
