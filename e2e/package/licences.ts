// The licences of the packages whose code is in a bundle, as they ask for it: each with its text.
//
// Invariant: a package without a text of its licence fails the build.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Plugin } from 'vite';

const MODULES = join(import.meta.dirname, '../../node_modules');

/** The package whose WebAssembly lies beside the bundles of all but the emulator. */
const SQLITE_PACKAGE = '@sqlite.org/sqlite-wasm';

const NOTES: Readonly<Record<string, string>> = {
  [SQLITE_PACKAGE]: `sqlite3.wasm is a changed copy of this package's file dist/sqlite3.wasm: it is instrumented, so that the rows that
a statement reads and writes are counted. SQLite itself is in the public domain
(https://sqlite.org/copyright.html).`,
};

const LINE = `\n${'-'.repeat(80)}\n\n`;

export class Licences {
  readonly #packages: Set<string>;

  /** Begins with packages whose files lie beside the bundles. */
  constructor(packages: readonly string[] = [SQLITE_PACKAGE]) {
    this.#packages = new Set(packages);
  }

  /** A file that is bundled; one of no package is ignored. */
  add(path: string): void {
    const [, name] = /.*[\\/]?node_modules[\\/]((?:@[^\\/]+[\\/])?[^\\/]+)[\\/]/.exec(path) ?? [];
    if (name !== undefined && !name.startsWith('.')) this.#packages.add(name.replace('\\', '/'));
  }

  /** @throws Error as `licenceOf` */
  text(): string {
    return [...this.#packages]
      .sort()
      .map((name) => licenceOf(name))
      .join(LINE);
  }

  /** Notes the modules of a build, and of its workers. */
  collector(): Plugin {
    return {
      name: 'licences-of-modules',
      generateBundle: (_options, bundle) => {
        for (const file of Object.values(bundle)) {
          if (file.type === 'chunk') for (const id of file.moduleIds) this.add(id);
        }
      },
    };
  }

  /** Writes licences.txt, with further texts after the packages'. To come after whatever bundles. */
  writer(further: readonly string[]): Plugin {
    const text = () => [this.text(), ...further].join(LINE);
    return {
      name: 'licences',
      apply: 'build',
      generateBundle: {
        order: 'post',
        handler() {
          if (this.environment.config.isWorker) return;
          this.emitFile({ type: 'asset', fileName: 'licences.txt', source: text() });
        },
      },
    };
  }
}

/** @throws Error if the package has no text of its licence */
export function licenceOf(name: string, modules = MODULES): string {
  const folder = join(modules, name);
  const { version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    readonly version: string;
    readonly license: string;
  };
  const own = readdirSync(folder).find((file) =>
    /^(licen[cs]e(-mit)?|copying)(\.(md|txt))?$/i.test(file),
  );
  if (own === undefined && license !== 'Apache-2.0') {
    throw new Error(`${name} ${version} (${license}) is bundled and has no text of its licence.`);
  }
  const text = own === undefined ? apacheText() : readFileSync(join(folder, own), 'utf8');
  const parts = [`${name} ${version} (${license})`, NOTES[name], text];
  return parts.flatMap((part) => part?.replace(/^\n+/, '').trimEnd() ?? []).join('\n\n');
}

/** The terms are the same for all packages; a copyright, which only their own file has, comes after them. */
function apacheText(): string {
  const [terms] = readFileSync(join(MODULES, 'comlink/LICENSE'), 'utf8').split(
    /(?<=END OF TERMS.*\n)/,
  );
  return terms!;
}
