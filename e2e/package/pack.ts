// Builds the npm packages and packs each into a file, as `npm pack` does: the emulator beside `ctx-storage`.
//
//   npx tsx e2e/package/pack.ts <file>

import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { missingAddresses, OWN_ADDRESSES } from './addresses.ts';
import {
  EMULATOR,
  manifestOf,
  type PublishedManifest,
  type PublishedPackage,
  STORAGE,
} from './entry-modules.ts';
import { registryReadme } from './registry-readme.ts';

const REPOSITORY = join(import.meta.dirname, '../..');

/** The other builds in `dist`: the playground and the guide. */
const OTHER_BUILDS = ['dist/demo', 'dist/site'];

const OF_THE_REPOSITORY = ['scripts', 'devDependencies', 'overrides', 'workspaces'] as const;

/** The document of the emulator, which is the README of its package. */
const EMULATOR_README = 'docs/management.md';

/**
 * Writes the packed package `ctx-storage` to a file, and the emulator's package beside it. Their manifests have neither
 * scripts, which installers warn about, nor tools. The build replaces `dist/`, so two must not run at once.
 */
export function packTo(file: string): void {
  npm(REPOSITORY, 'run', 'build');
  packStorage(file);
  packEmulator(emulatorBeside(file));
}

/** Where the emulator's package is packed: beside the packed `ctx-storage`, under its name. */
export function emulatorBeside(file: string): string {
  return join(dirname(file), `${manifestOf(EMULATOR).name.replace('/', '-')}.tgz`);
}

function packStorage(file: string): void {
  const manifest = publishedManifest(STORAGE);
  packFolder(file, manifest, (directory) => {
    // `npm pack` chooses among these by the same patterns.
    const names = new Set(manifest.files.map((pattern) => pattern.split('/')[0]!));
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
    return registryReadme('README.md', manifest, (file) => isDocument(file, directory));
  });
}

/** The links of the emulator's README lead to documents of the version of `ctx-storage` that the emulator depends on. */
function packEmulator(file: string): void {
  const manifest = publishedManifest(EMULATOR);
  packFolder(file, manifest, (directory) => {
    cpSync(join(REPOSITORY, EMULATOR.folder, 'dist'), join(directory, 'dist'), { recursive: true });
    copyFileSync(join(REPOSITORY, 'LICENSE'), join(directory, 'LICENSE'));
    return registryReadme(EMULATOR_README, manifestOf(STORAGE), (file) =>
      isDocument(file, REPOSITORY),
    );
  });
}

/** Packs the files of a folder that `fill` has filled; it returns the text of the README. */
function packFolder(file: string, manifest: object, fill: (directory: string) => string): void {
  const directory = mkdtempSync(join(tmpdir(), 'ctx-storage-pack-'));
  try {
    writeFileSync(join(directory, 'README.md'), fill(directory));
    writeFileSync(join(directory, 'package.json'), JSON.stringify(manifest, null, 2));
    const json = npm(directory, 'pack', '--json', '--ignore-scripts');
    // npm 12 prints an object by name, earlier versions an array.
    const packed = JSON.parse(json) as Record<string, { filename: string }>;
    copyFileSync(join(directory, Object.values(packed)[0]!.filename), file);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** The manifest as it is published, with the addresses that only `package.json` has. */
function publishedManifest(published: PublishedPackage): PublishedManifest {
  const storage = manifestOf(STORAGE);
  const manifest = manifestOf(published);
  for (const field of OWN_ADDRESSES) if (field in storage) manifest[field] = storage[field];
  for (const part of OF_THE_REPOSITORY) delete manifest[part];
  return { ...manifest, exports: withOlderTypes(manifest.exports) };
}

/** Whether it is a document that the package `ctx-storage` contains. */
function isDocument(file: string, directory: string): boolean {
  return (
    /^docs\/(?:(?:internals|examples)\/[^/]+\.md|images\/[^/]+\.png|[^/]+\.md)$|^(?:[A-Z]+\.md|LICENSE)$/.test(
      file,
    ) && existsSync(join(directory, file))
  );
}

function npm(cwd: string, ...parameters: string[]): string {
  return execFileSync('npm', parameters, { cwd, encoding: 'utf8' });
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
  console.log(`Beside it: ${emulatorBeside(file)}`);
  const missing = missingAddresses(manifestOf(STORAGE));
  if (missing.length > 0) {
    console.log(`Missing in package.json: ${missing.join(', ')} (docs/internals/releasing.md).`);
  }
}
