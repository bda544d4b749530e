// The subcommand `ctx-storage init` copies an example of this package into a project of its own.
//
// Invariant: a folder that is not empty is left unchanged, and the project depends on the package that made it.

import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { parseArgs } from 'node:util';
import { type ExitCode, type Subcommand, UsageError } from '@ctx-storage/command-line/subcommand';
import { VERSION } from './version.ts';

interface Example {
  /** The example's folder in `docs/examples` of the package. */
  readonly folder: string;
  readonly about: string;
  /** The commands that the user runs after `npm install`. */
  readonly next: readonly string[];
}

export const EXAMPLES: Readonly<Record<string, Example>> = {
  todo: {
    folder: 'todo',
    about: 'a list with React: live in all tabs, with undo, opened without a network',
    next: ['npm run dev'],
  },
  chat: {
    folder: 'chat',
    about: 'one class with WebSockets, in the browser and unchanged on workerd',
    next: ['npm run dev'],
  },
  test: {
    folder: 'playwright',
    about: 'an app with a Playwright suite that seeds and breaks its storage',
    next: ['npx playwright install chromium', 'npm test'],
  },
};

const NAMES = Object.keys(EXAMPLES);

const USAGE = `Usage: ctx-storage init <example> [folder] [options]

Makes a project in a new or empty folder; without a folder, in one with the name of the example.

${NAMES.map((name) => `  ${name}  ${EXAMPLES[name]!.about}`).join('\n')}

  --package <spec>  the ctx-storage that the project depends on: a version, a file, an address
                    (default: the one that runs this command)
`;

/** Makes the subcommand; `packageFolder` is the folder of the running package, which contains the examples. */
export function initCommand(packageFolder: string): Subcommand {
  return {
    summary: `make an example a project: ${NAMES.join(', ')}`,
    usage: USAGE,
    async run(args, { print }): Promise<ExitCode> {
      const { name, example, folder, spec } = optionsOf(args);
      const dependency = spec ?? dependencyOn(packageFolder, folder);
      try {
        mustBeEmpty(folder);
        copy(join(packageFolder, 'docs/examples', example.folder), folder, dependency);
      } catch (error) {
        if (error instanceof UsageError) throw error;
        throw new UsageError(`init: "${folder}" cannot be made: ${(error as Error).message}`);
      }
      const enter = /^[\w./\\:~-]+$/.test(folder) ? folder : `"${folder}"`;
      const commands = [`cd ${enter}`, 'npm install', ...example.next];
      print(
        `Made ${name} in ${folder}; it depends on ctx-storage ${dependency}. Next:\n\n` +
          `${commands.map((command) => `  ${command}\n`).join('')}`,
      );
      return 0;
    },
  };
}

function optionsOf(args: readonly string[]) {
  const { values, positionals } = parseArguments(args);
  const [name, folder = name, ...others] = positionals;
  const known = `use one of: ${NAMES.join(', ')}; the folder comes after it`;
  if (name === undefined) throw new UsageError(`init: no example; ${known}.`);
  if (!Object.hasOwn(EXAMPLES, name)) {
    throw new UsageError(`init: unknown example "${name}"; ${known}.`);
  }
  if (others.length > 0) throw new UsageError(`init: "${others[0]}" is one argument too many.`);
  return { name, example: EXAMPLES[name]!, folder: folder!, spec: values.package };
}

function parseArguments(args: readonly string[]) {
  try {
    const options = { package: { type: 'string' } } as const;
    return parseArgs({ args: [...args], allowPositionals: true, options });
  } catch (error) {
    throw new UsageError(`init: ${(error as Error).message}`);
  }
}

function mustBeEmpty(folder: string): void {
  const found = statSync(folder, { throwIfNoEntry: false });
  if (found === undefined) return;
  if (!found.isDirectory()) throw new UsageError(`init: "${folder}" is a file; name a folder.`);
  const [first] = readdirSync(folder);
  if (first === undefined) return;
  throw new UsageError(`init: "${folder}" has "${first}" in it; name a new or an empty folder.`);
}

/**
 * Returns what the new project's manifest writes as the version of this package: the file that npm installed it from,
 * or else the version number, which npm finds in a registry.
 */
function dependencyOn(packageFolder: string, folder: string): string {
  const modules = dirname(packageFolder);
  if (basename(modules) !== 'node_modules') {
    throw new UsageError(
      'init: this package is not installed, so no project can depend on it; name another with --package.',
    );
  }
  const installed = join(modules, '.package-lock.json');
  if (!existsSync(installed)) return VERSION;
  const { packages } = JSON.parse(readFileSync(installed, 'utf8'));
  const resolved: string = packages['node_modules/ctx-storage']?.resolved ?? '';
  if (!resolved.startsWith('file:')) return VERSION;
  const file = relative(folder, resolve(dirname(modules), resolved.slice('file:'.length)));
  return `file:${file.split(sep).join('/')}`;
}

function copy(example: string, folder: string, dependency: string): void {
  mkdirSync(folder, { recursive: true });
  cpSync(example, folder, { recursive: true });
  // npm leaves a file named `.gitignore` out of a package, so the example has it without the dot.
  const ignored = join(folder, 'gitignore');
  if (existsSync(ignored)) renameSync(ignored, join(folder, '.gitignore'));
  const file = join(folder, 'package.json');
  const manifest = JSON.parse(readFileSync(file, 'utf8'));
  const name = basename(resolve(folder));
  if (/^[a-z0-9][a-z0-9._-]*$/.test(name)) manifest.name = name;
  manifest.dependencies['ctx-storage'] = dependency;
  writeFileSync(file, `${JSON.stringify(manifest, null, 2)}\n`);
}
