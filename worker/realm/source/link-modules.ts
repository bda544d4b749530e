// Sorts modules given as text into the order in which they can be loaded, and finds the import specifiers in each text.
//
// Invariant: a module comes after all its imports, because their addresses are written into its text. Circular imports
// have no such order and are refused.

import { init, parse } from 'es-module-lexer/minimal';
import { storageError } from '../../../src/shared/contract/errors.ts';
import { resolveModule, type SourceFiles } from '../../../src/shared/contract/source.ts';

/** An import specifier, at `start` to `end` of the module's text. The loader replaces it by the address of `target`. */
export interface ModuleImport {
  readonly start: number;
  readonly end: number;
  /** True for a dynamic import, whose range includes the quotation marks. */
  readonly isQuoted: boolean;
  readonly target: { readonly kind: 'file'; readonly path: string } | { readonly kind: 'library' };
}

export interface LinkedModule {
  readonly path: string;
  readonly text: string;
  readonly imports: readonly ModuleImport[];
}

/** The module names that resolve to this package's library of base classes. */
const LIBRARY_NAMES = ['cloudflare:workers', 'ctx-storage/worker'];

/** Returns the main module and everything that it imports, in the order of loading. @throws SOURCE_INVALID */
export async function linkModules(files: SourceFiles, main: string): Promise<LinkedModule[]> {
  await init();
  const linked = new Map<string, LinkedModule>();
  const visit = (path: string, importers: readonly string[]): void => {
    if (importers.includes(path)) throw circularImportError([...importers, path]);
    if (linked.has(path)) return;
    const module = linkedModule(files, path);
    for (const { target } of module.imports) {
      if (target.kind === 'file') visit(target.path, [...importers, path]);
    }
    linked.set(path, module);
  };
  visit(main, []);
  return [...linked.values()];
}

function linkedModule(files: SourceFiles, path: string): LinkedModule {
  const text = files[path]!;
  const imports: ModuleImport[] = [];
  for (const { n: specifier, s: start, e: end, d: dynamicStart } of importsOf(path, text)) {
    if (specifier === undefined) continue; // `import.meta`, or an address that is computed
    const target = targetOf(files, path, specifier);
    if (target !== null) imports.push({ start, end, isQuoted: dynamicStart >= 0, target });
  }
  return { path, text, imports };
}

function importsOf(path: string, text: string) {
  try {
    return parse(text, path)[0];
  } catch (cause) {
    const { idx } = cause as { readonly idx?: number };
    const place = idx === undefined ? path : lineAndColumnOf(path, text, idx);
    throw storageError('SOURCE_INVALID', `${place}: the text is not a JavaScript module.`, {
      cause,
    });
  }
}

/** Resolves a specifier. Null for a URL, which stays as it is. @throws SOURCE_INVALID */
function targetOf(
  files: SourceFiles,
  from: string,
  specifier: string,
): ModuleImport['target'] | null {
  if (LIBRARY_NAMES.includes(specifier)) return { kind: 'library' };
  if (/^\.{1,2}(?:\/|$)/.test(specifier)) {
    const path = resolveModule(files, from, specifier);
    if (path !== undefined) return { kind: 'file', path };
    throw storageError(
      'SOURCE_INVALID',
      `${from} imports "${specifier}", which is not among the files: ${Object.keys(files).join(', ')}.`,
    );
  }
  if (/^(?:https?|data|blob):/.test(specifier)) return null;
  throw storageError(
    'SOURCE_INVALID',
    `${from} imports "${specifier}". Source imports its own files ('./words.js'), ` +
      `${LIBRARY_NAMES.join(', ')} and addresses ('https://…'); bundle other packages into the text first.`,
  );
}

function circularImportError(paths: readonly string[]): Error {
  const cycle = paths.slice(paths.indexOf(paths.at(-1)!));
  return storageError(
    'SOURCE_INVALID',
    `${cycle.join(' imports ')}: source cannot be loaded while files import each other; move the ` +
      'shared code into another file.',
  );
}

function lineAndColumnOf(path: string, text: string, index: number): string {
  const lines = text.slice(0, index).split('\n');
  return `${path}:${lines.length}:${lines.at(-1)!.length + 1}`;
}
