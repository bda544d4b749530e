// Loads modules given as text into this thread, and finds the classes that the main module exports.
//
// Invariant: modules are loaded one at a time, each after its imports, so an error names the file that caused it. An
// inserted address changes only its own line, so line numbers in errors match the source. `sourceURL` makes engines
// show the path of the file.

import { storageError } from '../../../src/shared/contract/errors.ts';
import type { CheckedSource } from '../../../src/shared/contract/source.ts';
import type { UserClass } from '../../objects/instance/object-class.ts';
import * as library from '../library/library.ts';
import { type LinkedModule, linkModules } from './link-modules.ts';

export interface LoadedSource {
  /** The exported classes that extend `DurableObject`, by name. */
  readonly classes: Readonly<Record<string, UserClass>>;
  /** All exports of the main module. */
  readonly exports: Readonly<Record<string, unknown>>;
}

/** Loads a text as a module of this thread. */
export interface ModuleLoader {
  /** Returns an address from which the text can be imported. */
  addressOf(text: string): string;
  load(address: string): Promise<Record<string, unknown>>;
}

/** The key in `globalThis` under which the module text that replaces `cloudflare:workers` finds this bundle's library. */
const LIBRARY_KEY = Symbol.for('ctx-storage.library-of-source');

/** Loads the modules. @throws SOURCE_INVALID */
export async function loadModules(
  { files, main }: CheckedSource,
  loader: ModuleLoader,
): Promise<LoadedSource> {
  const modules = await linkModules(files, main);
  Reflect.set(globalThis, LIBRARY_KEY, library);
  const libraryAddress = loader.addressOf(libraryModuleText());
  const addresses = new Map<string, string>();
  let exports: Record<string, unknown> = {};
  for (const module of modules) {
    const address = loader.addressOf(linkedText(module, addresses, libraryAddress));
    addresses.set(module.path, address);
    exports = await loader.load(address).catch((cause) => {
      throw loadError(module.path, Object.keys(files), cause);
    });
  }
  const classes = classesIn(exports);
  if (Object.keys(classes).length === 0) throw noClassError(main, Object.keys(exports));
  return { classes, exports: { ...exports } };
}

function libraryModuleText(): string {
  const names = Object.keys(library).join(', ');
  return `export const { ${names} } = globalThis[Symbol.for(${JSON.stringify(LIBRARY_KEY.description)})];`;
}

function linkedText(
  { path, text, imports }: LinkedModule,
  addresses: ReadonlyMap<string, string>,
  libraryAddress: string,
): string {
  let result = '';
  let end = 0;
  for (const specifier of imports) {
    const { target, isQuoted } = specifier;
    const address = target.kind === 'library' ? libraryAddress : addresses.get(target.path)!;
    result += text.slice(end, specifier.start) + (isQuoted ? JSON.stringify(address) : address);
    end = specifier.end;
  }
  return `${result}${text.slice(end)}\n//# sourceURL=${encodeURI(path)}`;
}

function classesIn(exports: Readonly<Record<string, unknown>>): Record<string, UserClass> {
  const found = Object.entries(exports).filter(
    ([name, value]) =>
      name !== 'default' &&
      typeof value === 'function' &&
      value.prototype instanceof library.DurableObject,
  );
  return Object.fromEntries(found) as Record<string, UserClass>;
}

function loadError(path: string, paths: readonly string[], cause: unknown): Error {
  const fact = cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause);
  const found = cause instanceof Error ? firstPlaceIn(cause.stack ?? '', paths) : undefined;
  return storageError('SOURCE_INVALID', `${found ?? path} failed while it was loaded: ${fact}`, {
    cause,
  });
}

/** Finds the first frame of a stack that is in one of the files, as `path:line:column`. */
function firstPlaceIn(stack: string, paths: readonly string[]): string | undefined {
  for (const [, path, line, column] of stack.matchAll(/(?<![^\s()@])([^\s()@]+):(\d+):(\d+)/g)) {
    if (paths.includes(decodeURI(path!))) return `${decodeURI(path!)}:${line}:${column}`;
  }
  return undefined;
}

function noClassError(main: string, names: readonly string[]): Error {
  return storageError(
    'SOURCE_INVALID',
    `${main} exports no class of objects; it exports: ${names.join(', ') || 'nothing'}. ` +
      "Write export class Counter extends DurableObject, which comes from 'cloudflare:workers'.",
  );
}

/** Loads texts by means of Blob URLs, which browsers can import. */
export const browserLoader: ModuleLoader = {
  addressOf: (text) => URL.createObjectURL(new Blob([text], { type: 'text/javascript' })),
  load: (address) => import(/* @vite-ignore */ /* webpackIgnore: true */ address),
};
