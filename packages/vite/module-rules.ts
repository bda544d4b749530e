// Makes modules of files by their names: a text, an ArrayBuffer or a WebAssembly.Module, by wrangler's default rules
// and the rules of the configuration.
//
// Invariant: Vite itself reads the files, as `?raw` and `?url&inline`, so it refuses files that `server.fs` does not
// allow. It handles imports with a query of their own. The bytes are in the module itself, because on workerd they
// exist when modules are evaluated.

import { readFileSync } from 'node:fs';
import { dirname, isAbsolute, resolve } from 'node:path';
import type { Plugin } from 'vite';

export type ModuleKind = 'Text' | 'Data' | 'CompiledWasm';

/** A rule of the configuration. */
export interface ModuleRule {
  readonly type: ModuleKind;
  readonly globs: readonly string[];
  /** True if later rules of this type apply, too. */
  readonly fallthrough?: boolean | undefined;
}

/** Returns the kind of module that the file at a path is, or undefined if no rule matches. */
export type KindOf = (path: string) => ModuleKind | undefined;

const DEFAULTS: readonly ModuleRule[] = [
  { type: 'Text', globs: ['**/*.txt', '**/*.html', '**/*.sql'] },
  { type: 'Data', globs: ['**/*.bin'] },
  { type: 'CompiledWasm', globs: ['**/*.wasm'] },
];

/**
 * Combines the rules with the default rules, which come last. As in wrangler, a rule without `fallthrough` is the last
 * of its type, and globs that do not begin with `**` are relative to the folder of the configuration.
 */
export function kindsBy(rules: readonly ModuleRule[], folder: string): KindOf {
  const complete = new Set<ModuleKind>();
  const matchers: { readonly type: ModuleKind; matches(path: string): boolean }[] = [];
  for (const { type, globs, fallthrough } of [...rules, ...DEFAULTS]) {
    if (complete.has(type)) continue;
    if (fallthrough !== true) complete.add(type);
    const matching = globs.map((glob) => matcherIn(withSlashes(folder), glob));
    matchers.push({ type, matches: (path) => matching.some((matches) => matches(path)) });
  }
  return (path) => matchers.find(({ matches }) => matches(withSlashes(path)))?.type;
}

function matcherIn(folder: string, glob: string): (path: string) => boolean {
  const matches = globMatcher(glob);
  if (glob.startsWith('**')) return matches;
  return (path) => path.startsWith(`${folder}/`) && matches(path.slice(folder.length + 1));
}

const withSlashes = (path: string) => path.replaceAll('\\', '/');

const QUERY_OF_KIND: Readonly<Record<ModuleKind, string>> = {
  Text: '?raw',
  Data: '?url&inline&ctx-storage=Data',
  CompiledWasm: '?url&inline&ctx-storage=CompiledWasm',
};

/** Returns the plugin, which applies to pages and workers, because in development they may share a module. */
export function moduleRules(kindOf: KindOf): Plugin {
  return {
    name: 'ctx-storage:module-rules',
    enforce: 'pre',
    async resolveId(source, importer) {
      // If there is no importer, the browser itself has requested the file.
      if (importer === undefined || importer.endsWith('.html')) return null;
      const file = importedFile(source, importer);
      const kind = file && kindOf(file);
      if (!kind) return null;
      const found = await this.resolve(source.replace(/\?module$/, ''), importer, {
        skipSelf: true,
      });
      return found && !found.external ? found.id.split('?')[0] + QUERY_OF_KIND[kind] : found;
    },
    transform(code, id) {
      const kind = /[?&]ctx-storage=(Data|CompiledWasm)\b/.exec(id)?.[1];
      const base64 = kind && /;base64,([^"]*)/.exec(code)?.[1];
      if (!base64) return null;
      return { code: moduleCode(kind as ModuleKind, base64), map: null, moduleType: 'js' };
    },
  };
}

/** Returns the plugin for pre-bundled libraries, whose files Rolldown reads together with their modules. */
export function moduleRulesOfLibraries(kindOf: KindOf) {
  return {
    name: 'ctx-storage:module-rules-of-libraries',
    resolveId(source: string, importer: string | undefined) {
      const file = importer && importedFile(source, importer);
      return file && isAbsolute(file) && kindOf(file) ? file : null;
    },
    load(id: string) {
      const kind = isAbsolute(id) ? kindOf(id) : undefined;
      if (kind === undefined) return null;
      return { code: moduleOfFile(kind, id), moduleType: 'js' as const };
    },
  };
}

/** Returns the code of the module that a file becomes. */
export function moduleOfFile(kind: ModuleKind, file: string): string {
  return moduleCode(kind, readFileSync(file).toString(kind === 'Text' ? 'utf8' : 'base64'));
}

/** Returns the path of an import that has no query. Like wrangler, it also accepts `.wasm?module`. */
function importedFile(source: string, importer: string): string | undefined {
  const path = source.replace(/\.wasm\?module$/, '.wasm');
  if (path.includes('?')) return undefined;
  return path.startsWith('.') ? resolve(dirname(importer), path) : path;
}

function moduleCode(kind: ModuleKind, content: string): string {
  const text = JSON.stringify(content);
  if (kind === 'Text') return `export default ${text};`;
  const bytes = `Uint8Array.from(atob(${text}), (c) => c.charCodeAt(0))`;
  if (kind === 'Data') return `export default ${bytes}.buffer;`;
  return `export default new WebAssembly.Module(${bytes});`;
}

const REGEXP_CHARACTERS = /[.+^$()|[\]\\]/g;
const GLOB_TOKENS = /\*\*\/|\*\*|\*|\?|\{|\}|,/g;

/**
 * Returns a test of whether a whole path, with `/` between its folders, matches a glob of wrangler's rules: `*` and
 * `?` match within a folder, `**` matches across folders, and `{a,b}` matches one of its parts.
 */
export function globMatcher(glob: string): (path: string) => boolean {
  let depth = 0;
  const source = glob.replace(REGEXP_CHARACTERS, '\\$&').replace(GLOB_TOKENS, (token) => {
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
  // Braces that are still open are closed at the end of the glob.
  const pattern = new RegExp(`^${source}${')'.repeat(depth)}$`, 's');
  return (path) => pattern.test(path);
}
