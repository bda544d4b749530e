// Files whose name makes them modules: a text, an ArrayBuffer or a WebAssembly.Module, by wrangler's
// default rules and the rules of the configuration.
//
// Invariant: Vite reads the files, as `?raw` and `?url&inline`, which refuse files that `server.fs` does
// not allow. Imports with a query of their own are left to Vite. The bytes are in the module itself,
// because on workerd they exist when modules are evaluated.

import { readFileSync } from 'node:fs';
import { dirname, isAbsolute, resolve } from 'node:path';
import type { Plugin } from 'vite';

export type ModuleKind = 'Text' | 'Data' | 'CompiledWasm';

/** A rule, as in the configuration. */
export interface ModuleRule {
  readonly type: ModuleKind;
  readonly globs: readonly string[];
  /** Whether later rules of this type also apply. */
  readonly fallthrough?: boolean | undefined;
}

/** Globs that do not begin with `**` are relative to the folder of the configuration. */
export type KindOf = (path: string) => ModuleKind | undefined;

const DEFAULTS: readonly ModuleRule[] = [
  { type: 'Text', globs: ['**/*.txt', '**/*.html', '**/*.sql'] },
  { type: 'Data', globs: ['**/*.bin'] },
  { type: 'CompiledWasm', globs: ['**/*.wasm'] },
];

/** As in wrangler, a rule without `fallthrough` ends its type; default rules come last. */
export function kindsBy(rules: readonly ModuleRule[], folder: string): KindOf {
  const complete = new Set<ModuleKind>();
  const matchers: { readonly type: ModuleKind; matches(path: string): boolean }[] = [];
  for (const { type, globs, fallthrough } of [...rules, ...DEFAULTS]) {
    if (complete.has(type)) continue;
    if (fallthrough !== true) complete.add(type);
    const matching = globs.map((glob) => matcherIn(slashed(folder), glob));
    matchers.push({ type, matches: (path) => matching.some((matches) => matches(path)) });
  }
  return (path) => matchers.find(({ matches }) => matches(slashed(path)))?.type;
}

function matcherIn(folder: string, glob: string): (path: string) => boolean {
  const matches = globMatcher(glob);
  if (glob.startsWith('**')) return matches;
  return (path) => path.startsWith(`${folder}/`) && matches(path.slice(folder.length + 1));
}

const slashed = (path: string) => path.replaceAll('\\', '/');

const QUERIES: Readonly<Record<ModuleKind, string>> = {
  Text: '?raw',
  Data: '?url&inline&ctx-storage=Data',
  CompiledWasm: '?url&inline&ctx-storage=CompiledWasm',
};

/** For pages and workers, because in development they may share a module. */
export function moduleRules(kindOf: KindOf): Plugin {
  return {
    name: 'ctx-storage:module-rules',
    enforce: 'pre',
    async resolveId(source, importer) {
      // Without an importer, the browser itself requested the file.
      if (importer === undefined || importer.endsWith('.html')) return null;
      const file = fileOf(source, importer);
      const kind = file && kindOf(file);
      if (!kind) return null;
      const found = await this.resolve(source.replace(/\?module$/, ''), importer, {
        skipSelf: true,
      });
      return found && !found.external ? found.id.split('?')[0] + QUERIES[kind] : found;
    },
    transform(code, id) {
      const kind = /[?&]ctx-storage=(Data|CompiledWasm)\b/.exec(id)?.[1];
      const base64 = kind && /;base64,([^"]*)/.exec(code)?.[1];
      if (!base64) return null;
      return { code: moduleOf(kind as ModuleKind, base64), map: null, moduleType: 'js' };
    },
  };
}

/** For pre-bundled libraries: Rolldown reads their files together with their modules. */
export function moduleRulesOfLibraries(kindOf: KindOf) {
  return {
    name: 'ctx-storage:module-rules-of-libraries',
    resolveId(source: string, importer: string | undefined) {
      const file = importer && fileOf(source, importer);
      return file && isAbsolute(file) && kindOf(file) ? file : null;
    },
    load(id: string) {
      const kind = isAbsolute(id) ? kindOf(id) : undefined;
      if (kind === undefined) return null;
      return { code: moduleOfFile(kind, id), moduleType: 'js' as const };
    },
  };
}

/** The module of a file. */
export function moduleOfFile(kind: ModuleKind, file: string): string {
  return moduleOf(kind, readFileSync(file).toString(kind === 'Text' ? 'utf8' : 'base64'));
}

/** The path of an import without a query of its own; like wrangler, also accepts `.wasm?module`. */
function fileOf(source: string, importer: string): string | undefined {
  const path = source.replace(/\.wasm\?module$/, '.wasm');
  if (path.includes('?')) return undefined;
  return path.startsWith('.') ? resolve(dirname(importer), path) : path;
}

function moduleOf(kind: ModuleKind, content: string): string {
  const text = JSON.stringify(content);
  if (kind === 'Text') return `export default ${text};`;
  const bytes = `Uint8Array.from(atob(${text}), (c) => c.charCodeAt(0))`;
  if (kind === 'Data') return `export default ${bytes}.buffer;`;
  return `export default new WebAssembly.Module(${bytes});`;
}

const SPECIAL = /[.+^$()|[\]\\]/g;
const TOKENS = /\*\*\/|\*\*|\*|\?|\{|\}|,/g;

/**
 * A test of whether a whole path, with `/` between its folders, matches a glob of wrangler's rules: `*` and `?` within
 * a folder, `**` across folders, `{a,b}`.
 */
export function globMatcher(glob: string): (path: string) => boolean {
  let depth = 0;
  const source = glob.replace(SPECIAL, '\\$&').replace(TOKENS, (token) => {
    switch (token) {
      case '**/':
        return '(?:.*/)?';
      case '**':
        return '.*';
      case '*':
        return '[^/]*';
      case '?':
        return '[^/]';
      case '{':
        depth += 1;
        return '(?:';
      case '}':
        if (depth === 0) return '\\}';
        depth -= 1;
        return ')';
      default:
        return depth === 0 ? ',' : '|';
    }
  });
  // An unclosed brace ends with the glob.
  const pattern = new RegExp(`^${source}${')'.repeat(depth)}$`, 's');
  return (path) => pattern.test(path);
}
